import type { RandomExpression } from './random-expression.ts'

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

interface Minute {
  readonly at: number
  /** `Date.UTC` of what the clock on the wall shows. */
  readonly wall: number
  /** Whether the clock has shown this before. */
  readonly repeated: boolean
  /** Readings that the clock jumped over just before this minute. */
  readonly lost: readonly number[]
}

/** Every minute of a stretch of time, with what Intl says that the clock on the wall shows. */
export class WallClock {
  readonly minutes: readonly Minute[]

  constructor(timeZone: string, fromMs: number, untilMs: number) {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric',
    })
    const minutes: Minute[] = []
    const shown = new Set<number>()
    let previous: number | undefined
    // Two days earlier, so that readings repeated at the beginning are known to be.
    for (let at = fromMs - 2 * dayMs; at < untilMs; at += minuteMs) {
      const [month, day, year, hour, minute] = format.format(at).match(/\d+/g)!.map(Number) as [number, number, number, number, number]
      const wall = Date.UTC(year, month - 1, day, hour, minute)
      const lost: number[] = []
      if (previous !== undefined) for (let skipped = previous + minuteMs; skipped < wall; skipped += minuteMs) lost.push(skipped)
      if (at >= fromMs) minutes.push({ at, wall, repeated: shown.has(wall), lost })
      shown.add(wall)
      previous = wall
    }
    this.minutes = minutes
  }
}

export interface OraclePolicy { readonly gap: 'skip' | 'run-after'; readonly overlap: 'auto' | 'once' | 'both' }

/** The fire times within a wall clock's stretch, found by looking at every minute of it. */
export class Oracle {
  readonly #minutes: readonly { readonly at: number; readonly seconds: readonly number[] }[]

  constructor(clock: WallClock, expression: RandomExpression, policy: OraclePolicy) {
    const everyHour = expression.hours.size === 24
    const seconds = [...expression.seconds].sort((a, b) => a - b)
    const both = policy.overlap === 'both' || (policy.overlap === 'auto' && everyHour)
    const dates = new Map<number, boolean>()
    const matches = (wall: number): boolean => {
      const date = new Date(wall)
      if (!expression.minutes.has(date.getUTCMinutes()) || !expression.hours.has(date.getUTCHours())) return false
      const midnight = Math.floor(wall / dayMs)
      let known = dates.get(midnight)
      if (known === undefined) dates.set(midnight, known = expression.day(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()))
      return known
    }
    this.#minutes = clock.minutes.flatMap(({ at, wall, repeated, lost }) => {
      const regular = matches(wall) && (!repeated || both) ? seconds : []
      const madeUp = policy.gap === 'run-after' && !everyHour && lost.some(matches)
      const all = madeUp && regular[0] !== 0 ? [0, ...regular] : regular
      return all.length === 0 ? [] : [{ at, seconds: all }]
    })
  }

  /** The first fire time later than an instant, or undefined when it is not within the stretch. */
  next(after: number): number | undefined {
    for (const { at, seconds } of this.#minutes) {
      if (at + minuteMs <= after) continue
      const second = seconds.find((value) => at + value * 1000 > after)
      if (second !== undefined) return at + second * 1000
    }
    return undefined
  }

  /** The last fire time not later than an instant, or undefined. */
  previous(upTo: number): number | undefined {
    for (let i = this.#minutes.length - 1; i >= 0; i--) {
      const { at, seconds } = this.#minutes[i]!
      const second = seconds.findLast((value) => at + value * 1000 <= upTo)
      if (second !== undefined) return at + second * 1000
    }
    return undefined
  }
}
