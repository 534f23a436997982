import { SchedError } from '../errors.ts'
import { compileSchedule, type ScheduleDefinition } from './schedule.ts'

/** How an expression is read; the defaults are those of a task. */
export type FireTimeOptions = Pick<ScheduleDefinition, 'timeZone' | 'dst' | 'startAt' | 'endAt'>

/**
 * The first `count` fire times strictly later than `after`, ascending; fewer when the schedule ends. Depends on its arguments only.
 *
 * @throws SchedError SCHED_CRON_SYNTAX, SCHED_CRON_NEVER (no date can match), SCHED_TIME_ZONE_UNKNOWN or SCHED_OPTION_INVALID
 */
export function fireTimes(expression: string, options: FireTimeOptions & { readonly after: Date; readonly count: number }): Date[] {
  const { after, count } = options
  const schedule = compileSchedule(definition(expression, options))
  if (!Number.isSafeInteger(count) || count < 0) {
    throw new SchedError('SCHED_OPTION_INVALID', `count is ${String(count)}, expected a whole number, 0 or more.`, { details: { option: 'count', found: String(count) } })
  }
  const times: Date[] = []
  let at = schedule.next(instant('after', after))
  while (at !== null && times.length < count) {
    times.push(new Date(at))
    at = schedule.next(at)
  }
  return times
}

/**
 * The last fire time strictly earlier than `at`, or null when there is none: the mirror of `fireTimes`, so that for every instant t and the fire time n that
 * follows it, `previousFireTime({ at: n }) <= t < n`.
 *
 * @throws SchedError as `fireTimes` does
 */
export function previousFireTime(expression: string, options: FireTimeOptions & { readonly at: Date }): Date | null {
  const found = compileSchedule(definition(expression, options)).previous(Math.ceil(instant('at', options.at)) - 1)
  return found === null ? null : new Date(found)
}

/**
 * Milliseconds from the fire time at `at` (or, if there is none, from the last one before) to the next. Null when one of the two is missing: before the
 * first fire time, and at the last. It varies: a day in Berlin has 23 or 25 hours twice a year, and `0 9 * * MON-FRI` has weekends.
 *
 * @throws SchedError as `fireTimes` does
 */
export function period(expression: string, options: FireTimeOptions & { readonly at: Date }): number | null {
  return compileSchedule(definition(expression, options)).period(instant('at', options.at))
}

function definition(expression: string, { timeZone, dst, startAt, endAt }: FireTimeOptions): ScheduleDefinition {
  return { cron: expression, timeZone, dst, startAt, endAt }
}

function instant(option: string, value: Date): number {
  const ms: unknown = value instanceof Date ? value.getTime() : undefined
  if (typeof ms === 'number' && !Number.isNaN(ms)) return ms
  throw new SchedError('SCHED_OPTION_INVALID', `${option} is ${String(value)}, expected a valid Date.`, { details: { option, found: String(value) } })
}
