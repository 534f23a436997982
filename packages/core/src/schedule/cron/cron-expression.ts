import { SchedError } from '../../errors.ts'
import { shortestIntervalMs } from '../interval.ts'
import { hourRule, minuteRule, monthRule, parseValues, secondRule, yearRule, type Piece } from './cron-fields.ts'
import { cronSyntaxError, quote, shorten } from './cron-syntax.ts'
import { parseDaysOfMonth, parseDaysOfWeek, type DaysOfMonth, type DaysOfWeek } from './day-fields.ts'

/** What the fields of an expression say, without duplicates and ascending. */
export interface CronFields {
  readonly kind: 'fields'
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly daysOfMonth: DaysOfMonth
  readonly months: readonly number[]
  readonly daysOfWeek: DaysOfWeek
  /** Undefined means every year. */
  readonly years: readonly number[] | undefined
  /** The fields that choose days, as written: `day of month 30, month 2`. */
  readonly dayText: string
}

/** `@every`: the multiples of a duration since the epoch. */
export interface CronInterval {
  readonly kind: 'interval'
  readonly everyMs: number
}

const macros: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *', '@monthly': '0 0 1 * *', '@weekly': '0 0 * * 0', '@daily': '0 0 * * *', '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *', '@minutely': '* * * * *', '@secondly': '* * * * * *', '@weekdays': '0 0 * * 1-5', '@weekends': '0 0 * * 0,6',
}
const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
/** Enough to count the fields of anything that was meant as an expression. */
const piecesRead = 100
const fieldNames = 'second (only with 6 or 7 fields), minute, hour, day of month, month, day of week, year (only with 7)'

/**
 * Reads an expression: 5 fields, 6 with seconds first, 7 with the year last, a macro such as `@daily`, or `@every 1h30m`.
 * @throws SchedError SCHED_CRON_SYNTAX, naming the field and the position
 */
export function parseCron(expression: string): CronFields | CronInterval {
  if (typeof expression !== 'string') {
    throw new SchedError('SCHED_CRON_SYNTAX', `a cron expression must be a string, found ${typeof expression}.`, { details: { found: typeof expression } })
  }
  const pieces = split(expression)
  if (pieces[0]?.text.startsWith('@') === true) return parseMacro(expression, pieces)
  return parseFields(expression, pieces)
}

function split(expression: string): Piece[] {
  const pieces: Piece[] = []
  for (const match of expression.matchAll(/[^ \t\r\n\f\v]+/g)) {
    pieces.push({ expression, text: match[0], offset: match.index })
    if (pieces.length === piecesRead) break
  }
  return pieces
}

function parseFields(expression: string, pieces: readonly Piece[]): CronFields {
  const seconds: Piece | undefined = pieces.length > 5 ? pieces[0] : undefined
  const [minute, hour, dayOfMonth, month, dayOfWeek, year, extra] = seconds === undefined ? pieces : pieces.slice(1)
  if (minute === undefined || hour === undefined || dayOfMonth === undefined || month === undefined || dayOfWeek === undefined || extra !== undefined) {
    throw fieldCountError(expression, pieces)
  }
  return {
    kind: 'fields',
    seconds: seconds === undefined ? [0] : parseValues(secondRule, seconds),
    minutes: parseValues(minuteRule, minute),
    hours: parseValues(hourRule, hour),
    daysOfMonth: parseDaysOfMonth(dayOfMonth),
    months: parseValues(monthRule, month),
    daysOfWeek: parseDaysOfWeek(dayOfWeek),
    years: year === undefined || year.text === '*' ? undefined : parseValues(yearRule, year),
    dayText: dayText([['day of month', dayOfMonth], ['month', month], ['day of week', dayOfWeek], ['year', year]]),
  }
}

function dayText(fields: readonly (readonly [name: string, piece: Piece | undefined])[]): string {
  const written = fields.filter(([, piece]) => piece !== undefined && piece.text !== '*' && piece.text !== '?')
  return written.map(([name, piece]) => `${name} ${shorten(piece?.text ?? '')}`).join(', ')
}

function fieldCountError(expression: string, pieces: readonly Piece[]): SchedError {
  const found = pieces.length
  const position = (found > 7 ? pieces[7]!.offset : expression.length) + 1
  return new SchedError('SCHED_CRON_SYNTAX', `the cron expression ${quote(expression)} has ${found}${found === piecesRead ? ' or more' : ''} ${found === 1 ? 'field' : 'fields'}, expected 5, 6 or 7: ${fieldNames}.`, {
    remedy: found < 5 ? 'Missing fields are not filled in; write * for each.' : 'Separate the items of a list with commas, without spaces.',
    details: { field: 'all', position, found, expected: '5, 6 or 7 fields' },
  })
}

function parseMacro(expression: string, pieces: readonly Piece[]): CronFields | CronInterval {
  const [name, argument, extra] = pieces
  const known = name !== undefined && Object.hasOwn(macros, name.text) ? macros[name.text] : undefined
  if (known !== undefined && argument === undefined) return parseCron(known)
  if (name?.text === '@every' && extra === undefined) return { kind: 'interval', everyMs: parseDuration(expression, argument) }
  const unexpected = known !== undefined && argument !== undefined ? argument : extra !== undefined && name?.text === '@every' ? extra : name
  const lower = name?.text.toLowerCase() ?? ''
  throw cronSyntaxError(expression, {
    field: 'macro', offset: unexpected?.offset ?? 0, found: unexpected?.text ?? '',
    expected: unexpected === name ? `one of ${Object.keys(macros).join(' ')} or @every with a duration` : `nothing after ${name?.text ?? ''}`,
    ...(unexpected === name && lower !== name?.text && (Object.hasOwn(macros, lower) || lower === '@every') ? { remedy: `Write ${lower}: macros are in small letters.` } : {}),
  })
}

function parseDuration(expression: string, argument: Piece | undefined): number {
  const text = argument?.text ?? ''
  const offset = argument?.offset ?? expression.length
  const field = 'interval'
  if (!/^(?:[0-9]+[smhd])+$/.test(text)) {
    throw cronSyntaxError(expression, { field, offset, found: text, expected: 'whole numbers with the units s, m, h or d, such as 90s or 1h30m' })
  }
  let everyMs = 0
  for (const [, amount, unit] of text.matchAll(/([0-9]+)([smhd])/g)) everyMs += Number(amount) * unitMs[unit!]!
  if (everyMs < shortestIntervalMs) throw cronSyntaxError(expression, { field, offset, found: text, expected: '1s or more' })
  if (!Number.isSafeInteger(everyMs)) throw cronSyntaxError(expression, { field, offset, found: text, expected: 'a duration that ends before the calendar does' })
  return everyMs
}
