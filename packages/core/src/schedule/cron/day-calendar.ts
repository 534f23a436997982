import { CronExpressionParser, type CronExpression } from 'cron-parser'
import type { CronFields } from './cron-expression.ts'
import { dayNumber, matchingDays } from './month-days.ts'

const dayMs = 86_400_000
/** The Gregorian calendar repeats after this many years; what does not match in them never does. */
const cycleYears = 400
/** Outside of these years nothing fires. */
const firstYear = 1600
const lastYear = 9999

/** A run of days without any other matching day between `from` and `to`; `to` matches. */
interface Run { readonly from: number; readonly to: number }

/**
 * The days on which an expression fires, numbered from 1970-01-01, without regard to zones.
 *
 * Arithmetic finds the next matching day, and cron-parser has the last word on it wherever its dialect has the form. It is asked in UTC only, where its
 * field logic is right, and about that day only: it walks day by day, 0.5 ms over a month, and 27 ms (`0 0 * 2 1#5`) or into its limit of 10,000 steps
 * over months without a match. The forms it lacks (`nW`, `LW`, `L-k`, lists with `#` or `nL`) are decided by arithmetic.
 */
export class DayCalendar {
  readonly #fields: CronFields
  readonly #monthAllowed: readonly boolean[]
  readonly #everyDay: boolean
  #parser: CronExpression | null | undefined
  #ahead: Run = { from: 1, to: 0 }
  #behind: Run = { from: 1, to: 0 }

  constructor(fields: CronFields) {
    this.#fields = fields
    this.#monthAllowed = Array.from({ length: 13 }, (_, month) => fields.months.includes(month))
    this.#everyDay = fields.years === undefined && fields.months.length === 12 && !fields.daysOfMonth.restricted && !fields.daysOfWeek.restricted
  }

  /** True when no date at all matches. */
  get empty(): boolean {
    return this.atOrAfter(dayNumber(firstYear, 1, 1)) === null
  }

  /** The first matching day at or after a day. */
  atOrAfter(day: number): number | null {
    if (this.#everyDay) return day
    if (day >= this.#ahead.from && day <= this.#ahead.to) return this.#ahead.to
    const found = this.#searchAhead(day)
    if (found !== null) this.#ahead = { from: day, to: found }
    return found
  }

  /** The last matching day at or before a day. */
  atOrBefore(day: number): number | null {
    if (this.#everyDay) return day
    if (day <= this.#behind.from && day >= this.#behind.to) return this.#behind.to
    const found = this.#searchBehind(day)
    if (found !== null) this.#behind = { from: day, to: found }
    return found
  }

  #searchAhead(day: number): number | null {
    let { year, month, dayOfMonth } = civil(Math.max(day, dayNumber(firstYear, 1, 1)))
    const end = this.#fields.years === undefined ? Math.min(lastYear, year + cycleYears) : lastYear
    for (; year <= end; year++, month = 1, dayOfMonth = 1) {
      const allowed = this.#yearAtOrAfter(year)
      if (allowed === undefined || allowed > end) return null
      if (allowed !== year) [year, month, dayOfMonth] = [allowed, 1, 1]
      for (; month <= 12; month++, dayOfMonth = 1) {
        if (!this.#monthAllowed[month]) continue
        const bits = matchingDays(this.#fields.daysOfMonth, this.#fields.daysOfWeek, year, month) >>> (dayOfMonth - 1)
        if (bits === 0) continue
        const found = dayNumber(year, month, dayOfMonth) + (31 - Math.clz32(bits & -bits))
        return this.#ask('next', found) ?? found
      }
    }
    return null
  }

  #searchBehind(day: number): number | null {
    let { year, month, dayOfMonth } = civil(Math.min(day, dayNumber(lastYear, 12, 31)))
    const end = this.#fields.years === undefined ? Math.max(firstYear, year - cycleYears) : firstYear
    for (; year >= end; year--, month = 12, dayOfMonth = 31) {
      const allowed = this.#yearAtOrBefore(year)
      if (allowed === undefined || allowed < end) return null
      if (allowed !== year) [year, month, dayOfMonth] = [allowed, 12, 31]
      for (; month >= 1; month--, dayOfMonth = 31) {
        if (!this.#monthAllowed[month]) continue
        const bits = matchingDays(this.#fields.daysOfMonth, this.#fields.daysOfWeek, year, month) & (2 ** dayOfMonth - 1)
        if (bits === 0) continue
        const found = dayNumber(year, month, 1) + (31 - Math.clz32(bits))
        return this.#ask('prev', found) ?? found
      }
    }
    return null
  }

  #yearAtOrAfter(year: number): number | undefined {
    return this.#fields.years === undefined ? year : this.#fields.years.find((allowed) => allowed >= year)
  }

  #yearAtOrBefore(year: number): number | undefined {
    return this.#fields.years === undefined ? year : this.#fields.years.findLast((allowed) => allowed <= year)
  }

  /** cron-parser's answer, the given day included; undefined where its dialect lacks the form. */
  #ask(direction: 'next' | 'prev', day: number): number | undefined {
    this.#parser ??= this.#parse()
    if (this.#parser === null) return undefined
    this.#parser.reset(new Date((direction === 'next' ? day - 0.5 : day + 0.5) * dayMs))
    return Math.floor(this.#parser[direction]().getTime() / dayMs)
  }

  #parse(): CronExpression | null {
    const text = parserText(this.#fields)
    return text === undefined ? null : CronExpressionParser.parse(text, { tz: 'UTC', currentDate: new Date(0) })
  }
}

/** The day fields in cron-parser's dialect, as values: its own reading of steps, names and duplicates is not relied upon. */
export function parserText(fields: Pick<CronFields, 'daysOfMonth' | 'months' | 'daysOfWeek'>): string | undefined {
  const { daysOfMonth, daysOfWeek } = fields
  if (daysOfMonth.lastWeekday || daysOfMonth.nearWeekday.length > 0 || daysOfMonth.beforeLast.some((k) => k > 0)) return undefined
  const inWeek = [...daysOfWeek.days.map(String), ...daysOfWeek.last.map((day) => `${day}L`), ...daysOfWeek.nth.map(({ day, k }) => `${day}#${k}`)]
  if (daysOfWeek.last.length + daysOfWeek.nth.length > 0 && inWeek.length > 1) return undefined
  const inMonth = [...daysOfMonth.days.map(String), ...daysOfMonth.beforeLast.map(() => 'L')]
  // A field that names every value is open to some versions and a restriction to others; for us every day matches then, whatever the other field says.
  const all = daysOfMonth.days.length === 31 || daysOfWeek.days.length === 7
  const first = all || !daysOfMonth.restricted ? '*' : inMonth.join(',')
  const second = all || !daysOfWeek.restricted ? '*' : inWeek.join(',')
  const month = fields.months.length === 12 ? '*' : fields.months.join(',')
  return `0 0 0 ${first} ${month} ${second}`
}

function civil(day: number): { year: number; month: number; dayOfMonth: number } {
  const date = new Date(day * dayMs)
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, dayOfMonth: date.getUTCDate() }
}
