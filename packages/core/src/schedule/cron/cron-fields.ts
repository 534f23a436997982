import { cronSyntaxError } from './cron-syntax.ts'

/** What one field accepts. */
export interface FieldRule {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Upper limit of a written number where it differs from `max`: 7 is Sunday too. */
  readonly writtenMax?: number
  /** Names in value order, the first standing for `min`. */
  readonly names?: readonly string[]
  /** What is allowed, for error messages. */
  readonly allowed: string
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

export const secondRule: FieldRule = { name: 'second', min: 0, max: 59, allowed: '0-59' }
export const minuteRule: FieldRule = { name: 'minute', min: 0, max: 59, allowed: '0-59' }
export const hourRule: FieldRule = { name: 'hour', min: 0, max: 23, allowed: '0-23' }
export const dayOfMonthRule: FieldRule = { name: 'day of month', min: 1, max: 31, allowed: '1-31, L, L-1 to L-30, 1W to 31W, LW or ?' }
export const monthRule: FieldRule = { name: 'month', min: 1, max: 12, names: months, allowed: '1-12 or JAN-DEC' }
export const dayOfWeekRule: FieldRule = {
  name: 'day of week', min: 0, max: 6, writtenMax: 7, names: weekdays,
  allowed: '0-7 (0 and 7 are Sunday), SUN-SAT, 0L to 7L, a day with #1 to #5, or ?',
}
export const yearRule: FieldRule = { name: 'year', min: 1970, max: 2199, allowed: '1970-2199' }

/** A piece of an expression and where it stands, so that errors can point at it. */
export interface Piece {
  readonly expression: string
  readonly text: string
  readonly offset: number
}

/** Longer than any list with a meaning: all years from 1970 to 2199 are 1,149 characters. */
const longestField = 4096

/** The items of a list, with their positions. */
export function* listItems(rule: FieldRule, piece: Piece): Generator<Piece> {
  if (piece.text.length > longestField) {
    throw cronSyntaxError(piece.expression, { field: rule.name, offset: piece.offset, found: piece.text, expected: `${longestField} characters or fewer` })
  }
  let from = 0
  for (;;) {
    const comma = piece.text.indexOf(',', from)
    const until = comma === -1 ? piece.text.length : comma
    yield { expression: piece.expression, text: piece.text.slice(from, until), offset: piece.offset + from }
    if (comma === -1) return
    from = comma + 1
  }
}

/** The values of a field that has no forms of its own, ascending and without duplicates. */
export function parseValues(rule: FieldRule, field: Piece): number[] {
  const values = new Set<number>()
  for (const item of listItems(rule, field)) addItem(rule, item, values)
  return [...values].sort((a, b) => a - b)
}

/** Adds what `*`, `n`, `a-b` or any of them with a step stands for. */
export function addItem(rule: FieldRule, item: Piece, values: Set<number>): void {
  const slash = item.text.indexOf('/')
  const base = slash === -1 ? item.text : item.text.slice(0, slash)
  const step = slash === -1 ? 1 : parseStep(rule, item, slash + 1)
  const dash = base.indexOf('-')
  let from: number, to: number
  if (base === '*') [from, to] = [rule.min, rule.max]
  else if (dash === -1) {
    from = parseValue(rule, item, base, 0)
    to = slash === -1 ? from : rule.writtenMax ?? rule.max
  } else {
    from = parseValue(rule, item, base.slice(0, dash), 0)
    to = parseValue(rule, item, base.slice(dash + 1), dash + 1)
    if (from > to) throw reversedRange(rule, item, base, from, to)
  }
  for (let value = from; value <= to; value += step) values.add(value > rule.max ? value - rule.max - 1 : value)
}

/** A number or a name of the field; `at` is where it stands inside the item. */
export function parseValue(rule: FieldRule, item: Piece, text: string, at: number): number {
  const value = valueOf(rule, text)
  if (value !== undefined && value >= rule.min && value <= (rule.writtenMax ?? rule.max)) return value
  throw invalidItem(rule, item, text, at)
}

function valueOf(rule: FieldRule, text: string): number | undefined {
  if (/^[0-9]+$/.test(text)) return Number(text)
  const index = rule.names?.indexOf(text.toUpperCase()) ?? -1
  return index === -1 ? undefined : rule.min + index
}

function parseStep(rule: FieldRule, item: Piece, at: number): number {
  const text = item.text.slice(at)
  const step = /^[0-9]+$/.test(text) ? Number(text) : 0
  if (step >= 1) return step
  throw cronSyntaxError(item.expression, { field: rule.name, offset: item.offset + at, found: text, expected: 'a step of 1 or more, in digits' })
}

/** The error for an item that is none of the field's forms. */
export function invalidItem(rule: FieldRule, item: Piece, found: string = item.text, at = 0): Error {
  const remedy = remedyFor(rule, item, found)
  return cronSyntaxError(item.expression, {
    field: rule.name, offset: item.offset + at, found, expected: rule.allowed, ...(remedy === undefined ? {} : { remedy }),
  })
}

function remedyFor(rule: FieldRule, item: Piece, found: string): string | undefined {
  if (/^H(?:$|[/(])/.test(item.text)) return 'H stands for a value that differs from node to node; write the number, and use jitter to spread tasks.'
  if (found === '') return item.text === '' ? 'Remove the extra comma, or the space behind it.' : 'Write the missing number.'
  if (item.text.startsWith('?')) return '? stands alone, and only for the day of month or the day of week.'
  if (rule.name === 'day of week' && item.text === 'L') return 'Write 6L for the last Saturday, or L as the day of month for the last day of the month.'
  const upper = item.text.toUpperCase()
  if (upper !== item.text && /^(?:L|LW|\d+[LW]|L-\d+)$/.test(upper)) return `Write ${upper}: L and W are capital letters.`
  return undefined
}

function reversedRange(rule: FieldRule, item: Piece, base: string, from: number, to: number): Error {
  const sunday = rule.writtenMax !== undefined
  const first = sunday ? `${from}-${rule.writtenMax}` : span(from, rule.max)
  const start = sunday ? 1 : rule.min
  const unwrapped = to < start ? first : `${first},${span(start, to)}`
  return cronSyntaxError(item.expression, {
    field: rule.name, offset: item.offset, found: base, expected: 'a range whose start is not after its end', remedy: `Write ${unwrapped} to go past the end.`,
  })
}

function span(from: number, to: number): string {
  return from === to ? `${from}` : `${from}-${to}`
}
