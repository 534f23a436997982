import { SchedError } from '../errors.ts'
import { parseCron } from './cron/cron-expression.ts'
import { cronNeverError, quote } from './cron/cron-syntax.ts'
import { WallCalendar } from './cron/wall-calendar.ts'
import { Interval } from './interval.ts'
import { resolveDst, type DstRule } from './zone/dst-rule.ts'
import { resolveTimeZone } from './zone/time-zone.ts'
import { zoneOffsets } from './zone/zone-offsets.ts'
import { ZoneWalk } from './zone/zone-walk.ts'

/**
 * Grows when the same definition starts to give other fire times. Part of a task's definition hash, so that nodes of two versions do not mix them.
 */
export const scheduleSemantics = 1

/** When a task fires. Exactly one of `cron` and `everyMs`. */
export interface ScheduleDefinition {
  /** 5 fields, 6 with seconds first, 7 with the year last, a macro such as `@daily`, or `@every 1h30m`. */
  readonly cron?: string | undefined
  /** Milliseconds, 1000 or more: fires at the multiples since the epoch, whatever the zone. */
  readonly everyMs?: number | undefined
  /** IANA name. Default `UTC`. */
  readonly timeZone?: string | undefined
  /** Default `{ gap: 'skip', overlap: 'auto' }`. */
  readonly dst?: DstRule | undefined
  /** The first instant at which it may fire. Default: no beginning. */
  readonly startAt?: Date | number | undefined
  /** The last instant at which it may fire. Default: no end. */
  readonly endAt?: Date | number | undefined
}

/**
 * A compiled schedule. Instants are epoch milliseconds. Its answers depend on nothing but the question, so that nodes and restarts agree.
 */
export interface Schedule {
  /** The first fire time later than `afterMs`, or null when the schedule has ended. */
  next(afterMs: number): number | null
  /** The last fire time that is not later than `atMs`, or null when there is none. */
  previous(atMs: number): number | null
  /** Milliseconds from the last fire time that is not later than `atMs` to the one after it, or null where one of them is missing. */
  period(atMs: number): number | null
  /** The rule in words, for logs: `cron "0 3 * * *" in Europe/Berlin`. */
  readonly describe: string
  readonly scheduleSemantics: number
  readonly timeZone: string
  /** The first and the last instant at which it may fire; null where there is no limit. */
  readonly startAt: number | null
  readonly endAt: number | null
  /** How it is walked in its zone; null for fixed intervals, which know no wall clock. */
  readonly walk: ZoneWalk | null
  readonly dst: Required<DstRule>
}

/**
 * Compiles and validates a schedule.
 * @throws SchedError SCHED_CRON_SYNTAX, SCHED_CRON_NEVER, SCHED_TIME_ZONE_UNKNOWN or SCHED_OPTION_INVALID
 */
export function compileSchedule(definition: ScheduleDefinition): Schedule {
  const { cron, everyMs } = definition
  if ((cron === undefined) === (everyMs === undefined)) {
    throw new SchedError('SCHED_OPTION_INVALID', `a schedule needs either cron or everyMs, found ${cron === undefined ? 'neither' : 'both'}.`, {
      remedy: "Write for example cron: '0 3 * * *' or everyMs: 60_000.", details: { option: 'cron' },
    })
  }
  const timeZone = resolveTimeZone(definition.timeZone ?? 'UTC')
  const dst = resolveDst(definition.dst)
  const startAt = instant('startAt', definition.startAt) ?? -Infinity
  const endAt = instant('endAt', definition.endAt) ?? Infinity
  if (startAt > endAt) {
    throw new SchedError('SCHED_OPTION_INVALID', `startAt (${new Date(startAt).toISOString()}) is later than endAt (${new Date(endAt).toISOString()}).`, { details: { option: 'startAt' } })
  }
  const rule = cron === undefined ? new Interval(everyMs!) : compiled(cron)
  const walk = rule instanceof Interval ? null : new ZoneWalk(rule, zoneOffsets(timeZone), dst)
  if (walk?.calendar.finite === true && walk.next(Date.UTC(1969, 11, 30)) === null) {
    throw cronNeverError(cron ?? '', `its only wall-clock times do not exist in ${timeZone}`, "Choose another time; dst: { gap: 'run-after' } would run it once the clock has jumped.")
  }
  const describe = cron === undefined ? `every ${everyMs! / 1000} s` : `cron ${quote(cron)}${walk === null ? '' : ` in ${timeZone}`}`
  const times = walk ?? (rule as Interval)

  const next = (afterMs: number): number | null => {
    const found = times.next(afterMs < startAt ? startAt - 1 : afterMs)
    return found === null || found > endAt ? null : found
  }
  const previous = (atMs: number): number | null => {
    const found = times.previous(atMs > endAt ? endAt : atMs)
    return found === null || found < startAt ? null : found
  }
  const period = (atMs: number): number | null => {
    const from = previous(atMs)
    const to = from === null ? null : next(from)
    return from === null || to === null ? null : to - from
  }
  return { next, previous, period, describe, scheduleSemantics, timeZone, startAt: definition.startAt === undefined ? null : startAt, endAt: definition.endAt === undefined ? null : endAt, walk, dst }
}

/**
 * Refuses a schedule that has no fire time left at registration, such as one for a year in the past. One that has fired and is over by its
 * `endAt` is no mistake but has ended: it is let through, so that a finished task does not keep a service from booting.
 * @throws SchedError SCHED_CRON_NEVER
 */
export function assertFiresAfter(schedule: Schedule, nowMs: number): void {
  if (schedule.next(nowMs) !== null || (schedule.endAt !== null && (schedule.endAt <= nowMs || schedule.previous(nowMs) !== null))) return
  const last = schedule.previous(nowMs)
  const end = schedule.endAt === null ? '' : ` up to its endAt, ${new Date(schedule.endAt).toISOString()}`
  throw new SchedError('SCHED_CRON_NEVER', `${schedule.describe} has no fire time after ${new Date(nowMs).toISOString()}${end}.`, {
    remedy: last === null ? 'Look at its startAt and endAt.' : `Its last one was ${new Date(last).toISOString()}; remove the task or change the year.`,
    details: { describe: schedule.describe },
  })
}

const kept = 1000
const calendars = new Map<string, WallCalendar | Interval>()

function compiled(expression: string): WallCalendar | Interval {
  const seen = calendars.get(expression)
  if (seen !== undefined) return seen
  const parsed = parseCron(expression)
  const calendar = parsed.kind === 'interval' ? new Interval(parsed.everyMs) : new WallCalendar(expression, parsed)
  if (calendars.size >= kept) calendars.delete(calendars.keys().next().value!)
  calendars.set(expression, calendar)
  return calendar
}

function instant(option: string, value: Date | number | undefined): number | undefined {
  if (value === undefined) return undefined
  const ms: unknown = value instanceof Date ? value.getTime() : value
  if (typeof ms === 'number' && !Number.isNaN(new Date(ms).getTime())) return ms
  throw new SchedError('SCHED_OPTION_INVALID', `${option} is ${String(value)}, expected a valid Date or epoch milliseconds.`, { details: { option, found: String(value) } })
}
