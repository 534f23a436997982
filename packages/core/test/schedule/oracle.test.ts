import { expect, test } from 'vitest'
import { compileSchedule } from '../../src/schedule/schedule.ts'
import { clockJumps } from './clock-jumps.ts'
import { randomDays, randomExpression } from './random-expression.ts'
import { SeededRandom } from './seeded-random.ts'
import { Oracle, WallClock } from './wall-clock-oracle.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const expressionsPerNight = 16
const instantsPerExpression = 24

/** SCHED_CRON_NEVER is right for an expression whose dates all lie in years or months that have none. */
function compiledOrNever(cron: string, timeZone: string, dst: { gap: 'skip' | 'run-after'; overlap: 'auto' | 'once' | 'both' }): ReturnType<typeof compileSchedule> | undefined {
  try {
    return compileSchedule({ cron, timeZone, dst })
  } catch (error) {
    expect(error).toMatchObject({ code: 'SCHED_CRON_NEVER' })
    return undefined
  }
}

let compared = 0

test.each(clockJumps)('%s about %s: every instant of the night as the wall clock has it', (timeZone, date, hour) => {
  const random = new SeededRandom(Number(date.replaceAll('-', '')) + hour + timeZone.length * 7)
  const noon = Date.parse(`${date}T12:00:00Z`)
  const [from, until] = [noon - 3 * dayMs, noon + 3 * dayMs]
  const clock = new WallClock(timeZone, from, until)
  const jumps = clock.minutes.filter((minute, i) => i > 0 && minute.wall - clock.minutes[i - 1]!.wall !== 60_000).map(({ at }) => at)
  if (timeZone !== 'UTC' && timeZone !== 'Asia/Kolkata') expect(jumps, 'this night has a jump').not.toEqual([])
  const [year, month, day] = date.split('-').map(Number) as [number, number, number]
  let inside = 0
  for (let i = 0; i < expressionsPerNight; i++) {
    const expression = randomExpression(random, { year, month, day, hour })
    const policy = { gap: random.pick(['skip', 'run-after'] as const), overlap: random.pick(['auto', 'auto', 'once', 'both'] as const) }
    const oracle = new Oracle(clock, expression, policy)
    const schedule = compiledOrNever(expression.text, timeZone, policy)
    for (let k = 0; k < instantsPerExpression; k++) {
      const near = jumps.length > 0 && random.chance(0.7) ? random.pick(jumps) + random.between(-3 * hourMs, 3 * hourMs) : random.between(from, until - 1)
      const instant = random.pick([near, Math.floor(near / 1000) * 1000, Math.floor(near / 60_000) * 60_000, oracle.next(near) ?? near])
      if (instant < from || instant >= until) continue
      const where = `${expression.text} ${timeZone} ${JSON.stringify(policy)} at ${new Date(instant).toISOString()}`
      const [next, previous] = [oracle.next(instant), oracle.previous(instant)]
      const answer = { next: schedule?.next(instant) ?? null, previous: schedule?.previous(instant) ?? null }
      if (next === undefined) expect(answer.next ?? Infinity, `next of ${where}`).toBeGreaterThanOrEqual(until)
      else expect(answer.next, `next of ${where}`).toBe(next)
      if (previous === undefined) expect(answer.previous ?? -Infinity, `previous of ${where}`).toBeLessThan(from)
      else expect(answer.previous, `previous of ${where}`).toBe(previous)
      compared += 2
      if (next !== undefined) inside++
    }
  }
  expect(inside, 'questions whose answer lies in the stretch').toBeGreaterThan(expressionsPerNight * instantsPerExpression / 4)
})

test('more than 20,000 instants were compared', () => {
  expect(compared).toBeGreaterThan(20_000)
})

test('days: every date of 12 years, for 160 random day fields', { timeout: 60_000 }, () => {
  const random = new SeededRandom(42)
  let dates = 0
  for (let i = 0; i < 160; i++) {
    const focus = { year: 2026, month: random.between(1, 12), day: random.pick([1, 2, 30, 31, random.between(1, 31)]), hour: 0 }
    const withYear = random.chance(0.3)
    const { fields: [dom, month, dow, year], day } = randomDays(random, focus, withYear)
    const text = `0 0 0 ${dom} ${month} ${dow} ${year}`.trim()
    const schedule = compiledOrNever(text, 'UTC', { gap: 'skip', overlap: 'auto' })
    const [from, until] = [Date.UTC(2019, 0, 1), Date.UTC(2031, 0, 1)]
    const wanted: number[] = []
    for (let at = from; at < until; at += dayMs) {
      const date = new Date(at)
      if (day(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate())) wanted.push(at)
    }
    const ahead: number[] = []
    const behind: number[] = []
    for (let at = schedule?.next(from - 1) ?? null; at !== null && at < until; at = schedule!.next(at)) ahead.push(at)
    for (let at = schedule?.previous(until - 1) ?? null; at !== null && at >= from; at = schedule!.previous(at - 1)) behind.push(at)
    expect(firstDifference(ahead, wanted), `${text}: next against every date`).toBeUndefined()
    expect(firstDifference(behind.reverse(), wanted), `${text}: previous against every date`).toBeUndefined()
    dates += wanted.length
  }
  expect(dates).toBeGreaterThan(20_000)
})

/** The first date that only one of two lists has. */
function firstDifference(left: readonly number[], right: readonly number[]): string | undefined {
  const at = Array.from({ length: Math.max(left.length, right.length) }, (_, i) => i).find((i) => left[i] !== right[i])
  return at === undefined ? undefined : `${String(left[at])} instead of ${String(right[at])}, number ${at}`
}
