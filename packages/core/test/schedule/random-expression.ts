import type { SeededRandom } from './seeded-random.ts'

/** An expression together with what it means, worked out while it is made up: nothing of the library's parser is used. */
export interface RandomExpression {
  readonly text: string
  readonly seconds: ReadonlySet<number>
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  /** Whether a date matches; month from 1. */
  day(year: number, month: number, day: number): boolean
}

interface Made { readonly text: string; readonly values: ReadonlySet<number> }

const monthNames = ['jan', 'Feb', 'MAR', 'apr', 'MAY', 'JUN', 'JUL', 'AUG', 'sep', 'OCT', 'NOV', 'DEC']
const dayNames = ['SUN', 'mon', 'TUE', 'Wed', 'THU', 'FRI', 'SAT']

/** Dates near which its hours and days gather, so that most expressions have something to do there. */
export interface Focus { readonly year: number; readonly month: number; readonly day: number; readonly hour: number }

export function randomExpression(random: SeededRandom, focus: Focus): RandomExpression {
  const withSeconds = random.chance(0.35)
  const seconds = withSeconds ? made(random, 0, 59, random.between(0, 59)) : { text: '', values: new Set([0]) }
  const minutes = made(random, 0, 59, random.between(0, 59))
  const hours = random.chance(0.3) ? { text: random.pick(['*', '*/1', '0-23']), values: span(0, 23, 1) } : made(random, 0, 23, Math.max(0, Math.min(23, focus.hour + random.between(-2, 2))))
  const { fields: [dom, month, dow, year], day } = randomDays(random, focus, withSeconds && random.chance(0.3))
  const text = [seconds.text, minutes.text, hours.text, dom, month, dow, year].filter((field) => field !== '').join(random.pick([' ', '  ']))
  return { text, seconds: seconds.values, minutes: minutes.values, hours: hours.values, day }
}

/** The day fields: mostly open, because a closed one is idle on most nights. */
export function randomDays(random: SeededRandom, focus: Focus, withYear: boolean): { fields: [string, string, string, string]; day: RandomExpression['day'] } {
  const month = random.chance(0.7) ? { text: '*', values: span(1, 12, 1) } : withNames(random, made(random, 1, 12, focus.month), 1, monthNames)
  const closed = random.chance(0.6) ? undefined : randomDayOfMonth(random, focus)
  const dom = closed?.text === '*' ? undefined : closed // a lone star is no restriction, whoever wrote it
  const dow = random.chance(0.6) ? undefined : randomDayOfWeek(random)
  const years = made(random, 1970, 2199, focus.year)
  const open = (): string => random.pick(['*', '?'])
  const day = (y: number, m: number, d: number): boolean => {
    if (!month.values.has(m) || (withYear && !years.values.has(y))) return false
    if (dom === undefined && dow === undefined) return true
    return dom?.matches(y, m, d) === true || dow?.matches(y, m, d) === true
  }
  return { fields: [dom?.text ?? open(), month.text, dow?.text ?? open(), withYear ? years.text : ''], day }
}

interface DayPart { readonly text: string; readonly matches: (year: number, month: number, day: number) => boolean }

function randomDayOfMonth(random: SeededRandom, focus: Focus): DayPart {
  return listOf(random, () => {
    const near = Math.max(1, Math.min(31, focus.day + random.between(-2, 2)))
    switch (random.between(0, 7)) {
      case 0: return { text: 'L', matches: (y, m, d) => d === lengthOf(y, m) }
      case 1: {
        const k = random.between(1, 30)
        return { text: `L-${k}`, matches: (y, m, d) => d === lengthOf(y, m) - k }
      }
      case 2: return { text: 'LW', matches: (y, m, d) => d === lastWorkday(y, m) }
      case 3: return { text: `${near}W`, matches: (y, m, d) => d === nearestWorkday(y, m, near) }
      default: {
        const { text, values } = made(random, 1, 31, near)
        return { text, matches: (_y, _m, d) => values.has(d) }
      }
    }
  })
}

function randomDayOfWeek(random: SeededRandom): DayPart {
  return listOf(random, () => {
    const written = random.between(0, 7)
    const day = written % 7
    switch (random.between(0, 5)) {
      case 0: {
        const k = random.between(1, 5)
        return { text: `${random.chance(0.5) ? written : dayNames[day]}#${k}`, matches: (y, m, d) => weekday(y, m, d) === day && Math.ceil(d / 7) === k }
      }
      case 1: return { text: `${written}L`, matches: (y, m, d) => weekday(y, m, d) === day && d + 7 > lengthOf(y, m) }
      case 2: {
        const to = random.between(written, 7)
        return { text: `${written}-${to}`, matches: (y, m, d) => [...span(written, to, 1)].some((value) => value % 7 === weekday(y, m, d)) }
      }
      case 3: {
        const step = random.between(1, 4)
        return { text: `${written}/${step}`, matches: (y, m, d) => [...span(written, 7, step)].some((value) => value % 7 === weekday(y, m, d)) }
      }
      case 4: {
        const step = random.between(1, 8)
        return { text: `*/${step}`, matches: (y, m, d) => weekday(y, m, d) % step === 0 }
      }
      default: return { text: random.chance(0.5) ? `${written}` : dayNames[day]!, matches: (y, m, d) => weekday(y, m, d) === day }
    }
  })
}

function listOf(random: SeededRandom, part: () => DayPart): DayPart {
  const parts = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, part)
  return { text: parts.map(({ text }) => text).join(','), matches: (y, m, d) => parts.some(({ matches }) => matches(y, m, d)) }
}

/** A field of plain forms, `near` being a value it likes. */
function made(random: SeededRandom, min: number, max: number, near: number): Made {
  const parts = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (): Made => {
    const from = random.chance(0.6) ? near : random.between(min, max)
    switch (random.between(0, 5)) {
      case 0: {
        const step = random.pick([1, 2, 3, 5, 7, 10, 15, 20, 30, 99])
        return { text: `*/${step}`, values: span(min, max, step) }
      }
      case 1: {
        const step = random.between(1, 20)
        return { text: `${from}/${step}`, values: span(from, max, step) }
      }
      case 2: {
        const to = random.between(from, max)
        const step = random.between(1, 6)
        return random.chance(0.5) ? { text: `${from}-${to}`, values: span(from, to, 1) } : { text: `${from}-${to}/${step}`, values: span(from, to, step) }
      }
      case 3: return random.chance(0.5) ? { text: '*', values: span(min, max, 1) } : { text: `${from}`, values: new Set([from]) }
      default: return { text: random.chance(0.1) && from < 10 ? `0${from}` : `${from}`, values: new Set([from]) }
    }
  })
  return { text: parts.map(({ text }) => text).join(','), values: new Set(parts.flatMap(({ values }) => [...values])) }
}

function withNames(random: SeededRandom, { text, values }: Made, min: number, names: readonly string[]): Made {
  if (text.includes('/') || random.chance(0.5)) return { text, values }
  return { text: text.replace(/\d+/g, (digits) => names[Number(digits) - min]!), values }
}

function span(from: number, to: number, step: number): Set<number> {
  const values = new Set<number>()
  for (let value = from; value <= to; value += step) values.add(value)
  return values
}

function weekday(year: number, month: number, day: number): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay()
}

function lengthOf(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate()
}

function isWorkday(year: number, month: number, day: number): boolean {
  return ![0, 6].includes(weekday(year, month, day))
}

function lastWorkday(year: number, month: number): number {
  let day = lengthOf(year, month)
  while (!isWorkday(year, month, day)) day--
  return day
}

/** Tries the distances 0, 1, 2 in both directions inside the month; a Saturday and a Sunday never have two equally near. */
function nearestWorkday(year: number, month: number, wanted: number): number {
  const length = lengthOf(year, month)
  if (wanted > length) return 0
  for (const distance of [0, -1, 1, -2, 2]) {
    const day = wanted + distance
    if (day >= 1 && day <= length && isWorkday(year, month, day)) return day
  }
  return 0
}
