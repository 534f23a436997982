import { expect, test } from 'vitest'
import { fireTimes, previousFireTime } from '../../src/schedule/fire-times.ts'
import { compileSchedule } from '../../src/schedule/schedule.ts'
import { clockJumps } from './clock-jumps.ts'
import { cpuMs } from './cpu-time.ts'
import { randomExpression } from './random-expression.ts'
import { SeededRandom } from './seeded-random.ts'

const hourMs = 3_600_000

test('strictly later, strictly increasing, previous(next(t)) <= t < next(t), and the same sequence from every instant', { timeout: 60_000 }, () => {
  const random = new SeededRandom(7)
  let walked = 0
  for (let i = 0; i < 600; i++) {
    const [timeZone, date, hour] = random.pick(clockJumps)
    const [year, month, day] = date.split('-').map(Number) as [number, number, number]
    const { text } = randomExpression(random, { year, month, day, hour })
    const dst = { gap: random.pick(['skip', 'run-after'] as const), overlap: random.pick(['auto', 'once', 'both'] as const) }
    const start = Date.parse(`${date}T12:00:00Z`) - random.between(0, 40 * hourMs)
    let times: number[]
    try {
      times = fireTimes(text, { timeZone, dst, after: new Date(start), count: 40 }).map((time) => time.getTime())
    } catch (error) {
      expect(error).toMatchObject({ code: 'SCHED_CRON_NEVER' })
      continue
    }
    const schedule = compileSchedule({ cron: text, timeZone, dst })
    const questions: [instant: number, next: number, previous: number | null][] = []
    let before = start
    for (const [k, time] of times.entries()) {
      expect(time, text).toBeGreaterThan(before)
      for (const instant of [before, before + 1, Math.floor(before + (time - before) * random.next()), time - 1]) {
        if (instant >= before && instant < time) questions.push([instant, time, times[k - 1] ?? null])
      }
      before = time
    }
    // In a random order: an answer must not depend on what was asked before.
    for (let k = questions.length - 1; k > 0; k--) {
      const other = random.between(0, k)
      ;[questions[k], questions[other]] = [questions[other]!, questions[k]!]
    }
    for (const [instant, next, previous] of questions) {
      const where = `${text} ${timeZone} ${JSON.stringify(dst)} at ${new Date(instant).toISOString()}`
      expect(schedule.next(instant), where).toBe(next)
      const strictlyBefore = previousFireTime(text, { timeZone, dst, at: new Date(next) })?.getTime() ?? -Infinity
      expect(strictlyBefore, where).toBeLessThanOrEqual(instant)
      if (previous !== null) {
        expect(schedule.previous(instant), where).toBe(previous)
        expect(schedule.period(instant), where).toBe(next - previous)
        expect(strictlyBefore, where).toBe(previous)
      }
      expect(schedule.previous(next), where).toBe(next)
      walked++
    }
  }
  expect(walked).toBeGreaterThan(20_000)
})

test('asked between the two passes, a fixed task has run and an hourly one goes on', () => {
  // New York, 2026-11-01: 01:30 comes at 05:30Z and at 06:30Z. A restart at 06:05Z must not run the daily task again.
  for (let minute = 0; minute < 60; minute++) {
    const after = new Date(Date.UTC(2026, 10, 1, 6, minute, 5))
    expect(fireTimes('30 1 * * *', { timeZone: 'America/New_York', after, count: 1 })[0]?.toISOString()).toBe('2026-11-02T06:30:00.000Z')
    expect(previousFireTime('30 1 * * *', { timeZone: 'America/New_York', at: after })?.toISOString()).toBe('2026-11-01T05:30:00.000Z')
  }
  const hourly = fireTimes('30 * * * *', { timeZone: 'America/New_York', after: new Date('2026-11-01T05:00:00Z'), count: 3 })
  expect(hourly.map((time) => time.toISOString())).toEqual(['2026-11-01T05:30:00.000Z', '2026-11-01T06:30:00.000Z', '2026-11-01T07:30:00.000Z'])
})

test.each([
  ['0 0 29 2 *', '2096-03-01T00:00:00Z', '2104-02-29T00:00:00Z'], // 2100 is no leap year
  ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['0 0 31 * *', '2026-01-31T00:00:00Z', '2026-03-31T00:00:00Z'],
  ['0 0 L 2 *', '2027-03-01T00:00:00Z', '2028-02-29T00:00:00Z'],
  ['0 0 L 2 *', '2099-12-31T00:00:00Z', '2100-02-28T00:00:00Z'],
  ['10,50 0 0 1 1 *', '2098-12-31T00:00:00Z', '2099-01-01T00:00:10Z'],
  ['0 0 0 ? 2 1#5 2150-2199', '2026-01-01T00:00:00Z', '2168-02-29T00:00:00Z'],
  ['* * * * * ? 2150', '2026-01-01T00:00:00Z', '2150-01-01T00:00:00Z'],
  ['0 0 L-28 2 *', '2096-03-01T00:00:00Z', '2104-02-01T00:00:00Z'],
])('%s after %s', (expression, after, wanted) => {
  const took = cpuMs(() => {
    expect(fireTimes(expression, { after: new Date(after), count: 1 })[0]).toEqual(new Date(wanted))
    for (const timeZone of ['America/New_York', 'Pacific/Apia']) expect(fireTimes(expression, { timeZone, after: new Date(after), count: 1 })).toHaveLength(1)
  })
  expect(took).toBeLessThan(50)
})

test.each(['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '0 0 31W 4 *', '0 0 0 29 2 ? 2025-2027', '0 0 0 L-28 2 ? 1971-2199/2', '0 0 0 ? 2 1#5 2101-2139/2', '0 0 0 L-29,30 2 ?', '0 30 2 28 3 ? 2027'])('%s never fires', (expression) => {
  const took = cpuMs(() => {
    expect(() => fireTimes(expression, { timeZone: 'Europe/Berlin', after: new Date(), count: 1 })).toThrow(/SCHED_CRON_NEVER: the cron expression .* never fires/)
  })
  expect(took).toBeLessThan(50)
})

test('a fire time of the far past and of the far future', () => {
  const schedule = compileSchedule({ cron: '0 0 1 1 *', timeZone: 'Europe/Berlin' })
  expect(schedule.previous(Date.UTC(1000, 0, 1))).toBeNull()
  expect(schedule.next(Date.UTC(9999, 11, 31))).toBeNull()
  expect(schedule.next(8.64e15)).toBeNull()
  expect(schedule.next(-8.64e15)).toBeLessThan(Date.UTC(1601, 0, 2))
})
