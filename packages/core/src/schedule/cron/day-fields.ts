import { addItem, dayOfMonthRule, dayOfWeekRule, invalidItem, listItems, parseValue, type Piece } from './cron-fields.ts'
import { cronSyntaxError } from './cron-syntax.ts'

/** The day-of-month field. */
export interface DaysOfMonth {
  /** False for exactly `*` and `?`. The text decides: `1-31` and a star with a step are restrictions. */
  readonly restricted: boolean
  readonly days: readonly number[]
  /** `L` is 0, `L-k` is k. */
  readonly beforeLast: readonly number[]
  /** `nW`: the Monday-to-Friday nearest to day n, in the same month. */
  readonly nearWeekday: readonly number[]
  /** `LW`: the last Monday-to-Friday. */
  readonly lastWeekday: boolean
}

/** The day-of-week field; 0 is Sunday. */
export interface DaysOfWeek {
  readonly restricted: boolean
  readonly days: readonly number[]
  /** `nL`: the last such day of the month. */
  readonly last: readonly number[]
  /** `n#k`: the k-th such day of the month; none where the month has no k-th. */
  readonly nth: readonly { readonly day: number; readonly k: number }[]
}

export function parseDaysOfMonth(field: Piece): DaysOfMonth {
  if (isOpen(field)) return { restricted: false, days: [], beforeLast: [], nearWeekday: [], lastWeekday: false }
  const days = new Set<number>(), beforeLast = new Set<number>(), nearWeekday = new Set<number>()
  let lastWeekday = false
  for (const item of listItems(dayOfMonthRule, field)) {
    const near = /^([0-9]+)W$/.exec(item.text)
    const before = /^L-([0-9]+)$/.exec(item.text)
    if (item.text === 'L') beforeLast.add(0)
    else if (item.text === 'LW') lastWeekday = true
    else if (near?.[1] !== undefined) nearWeekday.add(parseValue(dayOfMonthRule, item, near[1], 0))
    else if (before?.[1] !== undefined) beforeLast.add(daysBeforeLast(item, before[1]))
    else if (/^[A-Z]/i.test(item.text) || item.text.startsWith('?')) throw invalidItem(dayOfMonthRule, item)
    else addItem(dayOfMonthRule, item, days)
  }
  return { restricted: true, days: ascending(days), beforeLast: ascending(beforeLast), nearWeekday: ascending(nearWeekday), lastWeekday }
}

function daysBeforeLast(item: Piece, text: string): number {
  const k = Number(text)
  if (k >= 1 && k <= 30) return k
  throw cronSyntaxError(item.expression, { field: dayOfMonthRule.name, offset: item.offset + 2, found: text, expected: '1-30 days before the last' })
}

export function parseDaysOfWeek(field: Piece): DaysOfWeek {
  if (isOpen(field)) return { restricted: false, days: [], last: [], nth: [] }
  const days = new Set<number>(), last = new Set<number>()
  const nth = new Map<string, { day: number; k: number }>()
  for (const item of listItems(dayOfWeekRule, field)) {
    const hash = item.text.indexOf('#')
    if (hash !== -1) {
      const day = weekday(item, item.text.slice(0, hash))
      const k = nthOfMonth(item, hash + 1)
      nth.set(`${day}#${k}`, { day, k })
    } else if (/^.+L$/.test(item.text)) last.add(weekday(item, item.text.slice(0, -1)))
    else addItem(dayOfWeekRule, item, days)
  }
  return { restricted: true, days: ascending(days), last: ascending(last), nth: [...nth.values()] }
}

function weekday(item: Piece, text: string): number {
  return parseValue(dayOfWeekRule, item, text, 0) % 7
}

function nthOfMonth(item: Piece, at: number): number {
  const text = item.text.slice(at)
  if (/^0*[1-5]$/.test(text)) return Number(text)
  throw cronSyntaxError(item.expression, { field: dayOfWeekRule.name, offset: item.offset + at, found: text, expected: '1-5 after #, for the first to the fifth' })
}

function isOpen(field: Piece): boolean {
  return field.text === '*' || field.text === '?'
}

function ascending(values: Set<number>): number[] {
  return [...values].sort((a, b) => a - b)
}
