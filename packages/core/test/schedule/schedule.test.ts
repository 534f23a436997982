import { describe, expect, test } from 'vitest'
import { describeNext } from '../../src/schedule/describe-next.ts'
import { fireTimes, period, previousFireTime } from '../../src/schedule/fire-times.ts'
import { jitterMs } from '../../src/schedule/jitter.ts'
import { assertFiresAfter, compileSchedule, type ScheduleDefinition } from '../../src/schedule/schedule.ts'
import { cpuMs } from './cpu-time.ts'

const hourMs = 3_600_000
const now = Date.UTC(2027, 2, 27, 5)

describe('intervals', () => {
  test('are the multiples since the epoch, whatever the zone', () => {
    const schedule = compileSchedule({ everyMs: 90_000, timeZone: 'Europe/Berlin' })
    expect([schedule.next(0), schedule.next(90_000), schedule.next(-1), schedule.previous(89_999), schedule.previous(90_000), schedule.period(5)]).toEqual([90_000, 180_000, 0, 0, 90_000, 90_000])
    expect(schedule.describe).toBe('every 90 s')
  })

  test('@every is the same', () => {
    expect(fireTimes('@every 1h30m', { timeZone: 'America/New_York', after: new Date(0), count: 2 })).toEqual([new Date(1.5 * hourMs), new Date(3 * hourMs)])
  })

  test.each([999, 0, -1000, 1500.5, NaN, Infinity, '1000'])('everyMs %s is refused', (everyMs) => {
    expect(() => compileSchedule({ everyMs: everyMs as number })).toThrow(`SCHED_OPTION_INVALID: everyMs is ${String(everyMs)}, expected a whole number of milliseconds, 1000 or more.`)
  })
})

describe('startAt and endAt', () => {
  const definition: ScheduleDefinition = { cron: '0 * * * *', startAt: new Date('2027-03-28T10:00:00Z'), endAt: Date.parse('2027-03-28T12:00:00Z') }

  test('are the first and the last instant at which it may fire', () => {
    const times = fireTimes('0 * * * *', { ...definition, after: new Date(0), count: 9 })
    expect(times.map((time) => time.toISOString())).toEqual(['2027-03-28T10:00:00.000Z', '2027-03-28T11:00:00.000Z', '2027-03-28T12:00:00.000Z'])
    expect(previousFireTime('0 * * * *', { ...definition, at: new Date('2028-01-01T00:00:00Z') })).toEqual(times[2])
    expect(previousFireTime('0 * * * *', { ...definition, at: times[0]! })).toBeNull()
  })

  test('the last fire time has no period, and neither has what was before the first', () => {
    const schedule = compileSchedule(definition)
    const periods = ['09:59:59', '11:30:00', '12:00:00'].map((time) => schedule.period(Date.parse(`2027-03-28T${time}Z`)))
    expect(periods).toEqual([null, hourMs, null])
  })

  test('the wrong way round, or no dates, are refused', () => {
    expect(() => compileSchedule({ ...definition, endAt: 0 })).toThrow('SCHED_OPTION_INVALID: startAt (2027-03-28T10:00:00.000Z) is later than endAt (1970-01-01T00:00:00.000Z).')
    expect(() => compileSchedule({ ...definition, endAt: new Date(NaN) })).toThrow('SCHED_OPTION_INVALID: endAt is Invalid Date')
    expect(() => compileSchedule({ ...definition, startAt: 'soon' as unknown as Date })).toThrow('SCHED_OPTION_INVALID: startAt is soon')
  })
})

describe('options', () => {
  test('either cron or everyMs', () => {
    expect(() => compileSchedule({})).toThrow('SCHED_OPTION_INVALID: a schedule needs either cron or everyMs, found neither.')
    expect(() => compileSchedule({ cron: '* * * * *', everyMs: 1000 })).toThrow('found both')
  })

  test('dst values are checked', () => {
    expect(() => compileSchedule({ cron: '* * * * *', dst: { gap: 'move' as 'skip' } })).toThrow(`SCHED_OPTION_INVALID: dst.gap is "move", expected 'skip' or 'run-after'.`)
    expect(() => compileSchedule({ cron: '* * * * *', dst: { overlap: 'twice' as 'both' } })).toThrow(`dst.overlap is "twice", expected 'auto' or 'once' or 'both'.`)
    expect(() => compileSchedule({ cron: '* * * * *', dst: 'skip' as unknown as object })).toThrow('dst is "skip", expected an object')
  })

  test('fireTimes checks after and count', () => {
    expect(() => fireTimes('* * * * *', { after: 5 as unknown as Date, count: 1 })).toThrow('SCHED_OPTION_INVALID: after is 5, expected a valid Date.')
    expect(() => fireTimes('* * * * *', { after: new Date(NaN), count: 1 })).toThrow('after is Invalid Date')
    expect(() => fireTimes('* * * * *', { after: new Date(0), count: -1 })).toThrow('count is -1, expected a whole number, 0 or more.')
    expect(fireTimes('* * * * *', { after: new Date(0), count: 0 })).toEqual([])
  })
})

describe('time zones', () => {
  test.each([['europe/berlin', 'Europe/Berlin'], ['utc', 'UTC'], ['Asia/Kolkata', 'Asia/Kolkata'], ['US/Pacific', 'US/Pacific'], ['EST', 'EST'], ['Etc/GMT+5', 'Etc/GMT+5'], ['America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires']])('%s is accepted', (timeZone, spelled) => {
    expect(compileSchedule({ cron: '0 3 * * *', timeZone }).timeZone).toBe(spelled)
  })

  test.each([
    ['local', 'may differ from node to node'], ['', 'lists the names'], ['+05:30', 'An offset knows no daylight saving'], ['UTC+05:30', 'An offset knows no daylight saving'], ['GMT+1', 'An offset'],
    ['Berlin', "Did you mean 'Europe/Berlin'?"], ['America/New York', "Did you mean 'America/New_York'?"], ['PST', 'lists the names'], ['IST', 'lists the names'], ['SystemV/PST8', 'lists the names'], ['Europe/Berln', 'lists the names'],
    [5, 'lists the names'],
  ])('%s is refused', (timeZone, remedy) => {
    expect(() => compileSchedule({ cron: '0 3 * * *', timeZone: timeZone as string })).toThrow(/SCHED_TIME_ZONE_UNKNOWN: timeZone is .*expected the name of an IANA time zone/)
    expect(() => compileSchedule({ everyMs: 1000, timeZone: timeZone as string })).toThrow(remedy)
  })
})

describe('assertFiresAfter', () => {
  test('refuses a year in the past, with the last fire time', () => {
    const past = compileSchedule({ cron: '0 0 0 1 1 ? 2026' })
    expect(() => { assertFiresAfter(past, now) }).toThrow('SCHED_CRON_NEVER: cron "0 0 0 1 1 ? 2026" in UTC has no fire time after 2027-03-27T05:00:00.000Z. Its last one was 2026-01-01T00:00:00.000Z')
  })

  test('refuses a window without a fire time, but not one that is over', () => {
    const empty = compileSchedule({ cron: '0 0 1 1 *', startAt: now, endAt: now + hourMs })
    expect(() => { assertFiresAfter(empty, now - 1) }).toThrow('SCHED_CRON_NEVER')
    expect(() => { assertFiresAfter(empty, now + hourMs) }).not.toThrow()
    expect(() => { assertFiresAfter(compileSchedule({ cron: '0 0 1 1 *' }), now) }).not.toThrow()
  })
})

test('the period follows the zone: a day in Berlin has 23, 24 or 25 hours', () => {
  const options = { timeZone: 'Europe/Berlin' }
  expect(['2027-03-27T11:00:00Z', '2027-03-28T10:00:00Z', '2027-10-30T10:00:00Z'].map((at) => period('0 12 * * *', { ...options, at: new Date(at) }))).toEqual([23 * hourMs, 24 * hourMs, 25 * hourMs])
  expect(period('0 9 * * MON-FRI', { at: new Date('2027-03-26T09:00:00Z') })).toBe(72 * hourMs)
})

test('run-after: one fire after the gap for all that is lost in it, merged with a regular one', () => {
  const after = new Date('2027-03-27T12:00:00Z')
  const times = (expression: string): string[] => fireTimes(expression, { timeZone: 'Europe/Berlin', dst: { gap: 'run-after' }, after, count: 2 }).map((time) => time.toISOString())
  expect(times('30 2 * * *')).toEqual(['2027-03-28T01:00:00.000Z', '2027-03-29T00:30:00.000Z'])
  expect(times('*/10 2 * * *')).toEqual(['2027-03-28T01:00:00.000Z', '2027-03-29T00:00:00.000Z'])
  expect(times('0,30 2,3 28 * *')).toEqual(['2027-03-28T01:00:00.000Z', '2027-03-28T01:30:00.000Z'])
  expect(times('30 * 28 3 *')).toEqual(['2027-03-27T23:30:00.000Z', '2027-03-28T00:30:00.000Z'])
  // Asked from the last millisecond before it, and at it.
  const schedule = compileSchedule({ cron: '30 2 * * *', timeZone: 'Europe/Berlin', dst: { gap: 'run-after' } })
  const gapEnd = Date.parse('2027-03-28T01:00:00Z')
  expect([schedule.next(gapEnd - 1), schedule.previous(gapEnd), schedule.previous(gapEnd - 1)]).toEqual([gapEnd, gapEnd, Date.parse('2027-03-27T01:30:00Z')])
})

test('100,000 fire times of a task that runs each second are walked in no time', () => {
  const schedule = compileSchedule({ cron: '* * * * * *', timeZone: 'Europe/Berlin' })
  let at = now
  const took = cpuMs(() => { for (let i = 0; i < 100_000; i++) at = schedule.next(at)! })
  expect(at).toBe(now + 100_000_000)
  expect(took).toBeLessThan(1000)
})

test('jitter is the same everywhere, and spread', () => {
  expect(['daily-cleanup', 'mail', ''].map((name) => jitterMs(name, 60_000))).toEqual([51_891, 198, 53_364])
  expect([jitterMs('mail', 0), jitterMs('mail', 1)]).toEqual([0, 0])
  const tenths = new Array<number>(10).fill(0)
  for (let i = 0; i < 10_000; i++) {
    const tenth = Math.floor(jitterMs(`task-${i}`, 1000) / 100)
    tenths[tenth]!++
  }
  for (const count of tenths) expect(count).toBeGreaterThan(850)
})

test('the boot log has each fire time in its zone and in UTC', () => {
  expect(describeNext(compileSchedule({ cron: '0 30 4 * * *', timeZone: 'Asia/Kathmandu' }), 'ledger', now, 2)).toBe([
    'ledger: cron "0 30 4 * * *" in Asia/Kathmandu, next',
    '  2027-03-28T04:30:00+05:45 Asia/Kathmandu = 2027-03-27T22:45:00Z',
    '  2027-03-29T04:30:00+05:45 Asia/Kathmandu = 2027-03-28T22:45:00Z',
  ].join('\n'))
  expect(describeNext(compileSchedule({ everyMs: 60_000 }), 'pump', now)).toBe('pump: every 60 s, next\n  2027-03-27T05:01:00Z\n  2027-03-27T05:02:00Z\n  2027-03-27T05:03:00Z')
  expect(describeNext(compileSchedule({ cron: '0 0 0 1 1 ? 2026', timeZone: 'America/St_Johns' }), 'old', now)).toBe('old: cron "0 0 0 1 1 ? 2026" in America/St_Johns, does not fire any more')
})
