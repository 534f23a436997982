import type { Schedule } from './schedule.ts'
import { wallDate, wallTime } from './wall-text.ts'
import type { ZoneWalk } from './zone/zone-walk.ts'

const dayMs = 86_400_000
/** Times named in one warning; the rest is counted. */
const timesNamed = 3

/** A date on which a task does not fire at a time of its rule, because the wall clock jumps over it. */
export interface GapWarning {
  /** The date in the task's zone, `2027-03-28`. */
  readonly date: string
  /** When the wall clock has jumped: where `gap: 'run-after'` would fire. Epoch milliseconds. */
  readonly resumesAt: number
  readonly message: string
}

/**
 * The dates within `days` days after `fromMs` on which a fixed time of a schedule does not exist in its zone. Empty for intervals, for schedules whose hours
 * are all 24 (they follow real time), and under `gap: 'run-after'`.
 */
export function gapWarnings(schedule: Schedule, fromMs: number, days = 400): GapWarning[] {
  const { walk } = schedule
  if (walk === null || walk.calendar.everyHour || schedule.dst.gap === 'run-after') return []
  const warnings: GapWarning[] = []
  const untilMs = fromMs + days * dayMs
  for (let stretch = walk.zone.stretchAt(fromMs); stretch.endAt <= untilMs;) {
    const following = walk.zone.stretchAt(stretch.endAt)
    if (following.offsetMs > stretch.offsetMs && isOpen(schedule, stretch.endAt)) {
      warnings.push(...warningsOf(schedule.timeZone, walk, stretch.endAt, stretch.endAt + stretch.offsetMs, stretch.endAt + following.offsetMs))
    }
    stretch = following
  }
  return warnings
}

/** Whether the schedule has begun and not ended: it fires before and after the gap, or would if its date did. */
function isOpen(schedule: Schedule, at: number): boolean {
  return (schedule.startAt === null || schedule.startAt <= at) && (schedule.endAt === null || at <= schedule.endAt)
}

/** One warning for each date that the gap from one reading to another touches. */
function* warningsOf(timeZone: string, walk: ZoneWalk, resumesAt: number, fromWall: number, untilWall: number): Generator<GapWarning> {
  let wall = walk.calendar.next(fromWall - 1)
  while (wall !== null && wall < untilWall) {
    const midnight = Math.floor(wall / dayMs) * dayMs
    const end = Math.min(untilWall, midnight + dayMs)
    const named: string[] = []
    let more = 0
    for (; wall !== null && wall < end; wall = walk.calendar.next(wall)) {
      if (named.length < timesNamed) named.push(wallTime(wall))
      else more++
    }
    const times = listed(named, more)
    const date = wallDate(midnight)
    const several = named.length > 1
    const absence = `${several ? 'do' : 'does'} not exist in ${timeZone}`
    // "will not run on" a date would be untrue where the task runs at another of its times that day.
    const lost = firesOnRestOf(walk, midnight, Math.max(fromWall, midnight), end) ? ` at ${times}, which ${absence}` : `: ${times} ${absence}`
    const after = `${untilWall >= midnight + dayMs ? `${wallDate(untilWall)} ` : ''}${wallTime(untilWall)}`
    const message = `will not run on ${date}${lost}; \`gap: 'run-after'\` would run ${several ? 'once' : 'it'} at ${after}`
    yield { date, resumesAt, message }
  }
}

function firesOnRestOf(walk: ZoneWalk, midnight: number, gapStart: number, gapEnd: number): boolean {
  const before = walk.calendar.next(midnight - 1)
  const after = walk.calendar.next(gapEnd - 1)
  return (before !== null && before < gapStart) || (after !== null && after < midnight + dayMs)
}

function listed(times: readonly string[], more: number): string {
  if (more > 0) return `${times.join(', ')} and ${more} more`
  return times.length === 1 ? times[0]! : `${times.slice(0, -1).join(', ')} and ${times.at(-1)}`
}
