import type { WallCalendar } from '../cron/wall-calendar.ts'
import type { DstRule } from './dst-rule.ts'
import type { Stretch, ZoneOffsets } from './zone-offsets.ts'

/** No two offsets of one zone are further apart than this (26 hours today). */
const offsetRangeMs = 48 * 3_600_000
const firstInstant = Date.UTC(1600, 0, 3)
const lastInstant = Date.UTC(9999, 11, 29)

/**
 * The fire times of a calendar in a zone: the calendar's readings are walked within one stretch of constant offset after the other, so that every answer is a
 * real instant and depends on nothing but the question. A reading that exists on no stretch (a gap) so never comes up, and needs no code.
 *
 * cron-parser's own zones are not used. It resolves a wall reading and moves on from what it got, which loses the daily run of Lord Howe's April night, runs
 * backwards in Chatham (every 15 minutes, 2026-04-04T12:40Z) and fires `30 1 * * *` in New York a second time when asked at 2026-11-01T06:05Z.
 */
export class ZoneWalk {
  readonly calendar: WallCalendar
  readonly zone: ZoneOffsets
  readonly #firstPassOnly: boolean
  readonly #runAfterGap: boolean

  constructor(calendar: WallCalendar, zone: ZoneOffsets, dst: Required<DstRule>) {
    this.calendar = calendar
    this.zone = zone
    this.#firstPassOnly = dst.overlap === 'once' || (dst.overlap === 'auto' && !calendar.everyHour)
    this.#runAfterGap = dst.gap === 'run-after' && !calendar.everyHour
  }

  /** The first fire time later than an instant. */
  next(after: number): number | null {
    if (after > lastInstant) return null
    let from = Math.max(Math.floor(after), firstInstant) // readings up to and including this instant's are done
    let stretch = this.zone.stretchAt(from)
    for (;;) {
      const wall = this.calendar.next(from + stretch.offsetMs)
      const instant = wall === null ? Infinity : wall - stretch.offsetMs
      const { endAt } = stretch
      if (instant < endAt) {
        if (!this.#firstPassOnly || !this.#repeats(stretch, instant)) return instant
        from = instant
        continue
      }
      // Up to the range of offsets after `from`, another stretch may show readings again that this one has passed. Later than that, and earlier than the
      // range before `instant`, no stretch can show a matching one.
      if (endAt >= from + offsetRangeMs) {
        if (wall === null || instant > lastInstant) return null
        if (instant - offsetRangeMs > endAt) {
          from = instant - offsetRangeMs
          stretch = this.zone.stretchAt(from)
          continue
        }
      }
      const following = this.zone.stretchAt(endAt)
      if (this.#runAfterGap && wall !== null && wall < endAt + following.offsetMs) return endAt
      stretch = following
      from = endAt - 1
    }
  }

  /** The last fire time that is not later than an instant. */
  previous(at: number): number | null {
    if (at < firstInstant) return null
    let upTo = Math.min(Math.floor(at), lastInstant)
    let stretch = this.zone.stretchAt(upTo)
    for (;;) {
      const wall = this.calendar.previous(upTo + stretch.offsetMs)
      const instant = wall === null ? -Infinity : wall - stretch.offsetMs
      const { startAt } = stretch
      if (instant >= startAt && wall !== null) {
        if (!this.#firstPassOnly || !this.#repeats(stretch, instant)) return instant
        upTo = instant - 1
        continue
      }
      if (startAt <= upTo - offsetRangeMs) {
        if (wall === null || instant < firstInstant) return null
        if (instant + offsetRangeMs < startAt) {
          upTo = instant + offsetRangeMs
          stretch = this.zone.stretchAt(upTo)
          continue
        }
      }
      const preceding = this.zone.stretchAt(startAt - 1)
      if (this.#runAfterGap && this.#losesTime(startAt + preceding.offsetMs, startAt + stretch.offsetMs)) return startAt
      stretch = preceding
      upTo = startAt - 1
    }
  }

  /** Whether the calendar has a reading at or after one and before another. */
  #losesTime(fromWall: number, untilWall: number): boolean {
    if (fromWall >= untilWall) return false
    const wall = this.calendar.next(fromWall - 1)
    return wall !== null && wall < untilWall
  }

  /** Whether an earlier instant had the same wall reading (what RFCs call fold 1). */
  #repeats(stretch: Stretch, instant: number): boolean {
    const wall = instant + stretch.offsetMs
    let earlier = stretch
    while (earlier.startAt > instant - offsetRangeMs) {
      earlier = this.zone.stretchAt(earlier.startAt - 1)
      const twin = wall - earlier.offsetMs
      if (twin >= earlier.startAt && twin < earlier.endAt) return true
    }
    return false
  }
}
