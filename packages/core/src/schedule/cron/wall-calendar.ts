import type { CronFields } from './cron-expression.ts'
import { cronNeverError } from './cron-syntax.ts'
import { DayCalendar } from './day-calendar.ts'
import { TimeOfDay } from './time-of-day.ts'

const daySeconds = 86_400

/**
 * The wall-clock readings on which an expression fires, as if every day had 24 hours. A reading is a number of milliseconds: what `Date.UTC` gives for it.
 */
export class WallCalendar {
  /** True when the hours are all 24: such a schedule follows real time when the clock is put back. */
  readonly everyHour: boolean
  /** True when the year field ends the schedule. */
  readonly finite: boolean
  readonly #days: DayCalendar
  readonly #times: TimeOfDay

  /** @throws SchedError SCHED_CRON_NEVER when no date matches */
  constructor(expression: string, fields: CronFields) {
    this.everyHour = fields.hours.length === 24
    this.finite = fields.years !== undefined
    this.#days = new DayCalendar(fields)
    this.#times = new TimeOfDay(fields.hours, fields.minutes, fields.seconds)
    if (this.#days.empty) {
      throw cronNeverError(expression, `no date matches ${fields.dayText}`, 'Look at how long the month is; L as the day of month is the last day of every month.')
    }
  }

  /** The first reading later than a reading. */
  next(afterWall: number): number | null {
    const second = Math.floor(afterWall / 1000) + 1
    const today = Math.floor(second / daySeconds)
    let day = this.#days.atOrAfter(today)
    if (day === today) {
      const time = this.#times.atOrAfter(second - today * daySeconds)
      if (time !== -1) return (today * daySeconds + time) * 1000
      day = this.#days.atOrAfter(today + 1)
    }
    return day === null ? null : (day * daySeconds + this.#times.first) * 1000
  }

  /** The last reading that is not later than a reading. */
  previous(atWall: number): number | null {
    const second = Math.floor(atWall / 1000)
    const today = Math.floor(second / daySeconds)
    let day = this.#days.atOrBefore(today)
    if (day === today) {
      const time = this.#times.atOrBefore(second - today * daySeconds)
      if (time !== -1) return (today * daySeconds + time) * 1000
      day = this.#days.atOrBefore(today - 1)
    }
    return day === null ? null : (day * daySeconds + this.#times.last) * 1000
  }
}
