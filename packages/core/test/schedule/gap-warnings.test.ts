import { expect, test } from 'vitest'
import { gapWarnings } from '../../src/schedule/gap-warnings.ts'
import { compileSchedule } from '../../src/schedule/schedule.ts'

const from = Date.parse('2026-11-30T00:00:00Z')

function messages(cron: string, timeZone: string, at = from, days?: number): string[] {
  return gapWarnings(compileSchedule({ cron, timeZone }), at, days).map(({ message }) => message)
}

test('a fixed time in a gap is warned about by date', () => {
  const [warning, ...others] = gapWarnings(compileSchedule({ cron: '30 2 * * *', timeZone: 'Europe/Berlin' }), from)
  expect(warning).toEqual({
    date: '2027-03-28', resumesAt: Date.parse('2027-03-28T01:00:00Z'),
    message: "will not run on 2027-03-28: 02:30 does not exist in Europe/Berlin; `gap: 'run-after'` would run it at 03:00",
  })
  expect(others).toEqual([])
})

test('a task that runs at other times of that date is told which are lost', () => {
  expect(messages('30 1,2 * * *', 'America/New_York')).toEqual(["will not run on 2027-03-14 at 02:30, which does not exist in America/New_York; `gap: 'run-after'` would run it at 03:00"])
  expect(messages('0 */10 0-6 * * *', 'Europe/Berlin')).toEqual([
    "will not run on 2027-03-28 at 02:00, 02:10, 02:20 and 3 more, which do not exist in Europe/Berlin; `gap: 'run-after'` would run once at 03:00",
  ])
  expect(messages('15 2 * * *', 'Australia/Lord_Howe', Date.parse('2026-06-01T00:00:00Z'), 200)).toEqual([
    "will not run on 2026-10-04: 02:15 does not exist in Australia/Lord_Howe; `gap: 'run-after'` would run it at 02:30",
  ])
})

test('midnight, seconds, and gaps that end on another date', () => {
  expect(messages('0 0 * * *', 'Africa/Cairo')).toEqual(["will not run on 2027-04-30: 00:00 does not exist in Africa/Cairo; `gap: 'run-after'` would run it at 01:00"])
  expect(messages('5 30 2 * * *', 'Europe/Berlin')[0]).toContain(': 02:30:05 does not exist')
  const [apia] = messages('0 12 * * *', 'Pacific/Apia', Date.parse('2011-12-01T00:00:00Z'), 60)
  expect(apia).toBe("will not run on 2011-12-30: 12:00 does not exist in Pacific/Apia; `gap: 'run-after'` would run it at 2011-12-31 00:00")
})

test('nothing to warn about', () => {
  expect(messages('30 * * * *', 'Europe/Berlin')).toEqual([]) // follows real time
  expect(messages('30 2 * * *', 'UTC')).toEqual([])
  expect(messages('30 2 * * *', 'Asia/Tokyo')).toEqual([])
  expect(messages('30 3 * * *', 'Europe/Berlin')).toEqual([])
  expect(messages('30 2 * * MON', 'Europe/Berlin')).toEqual([])
  expect(messages('30 2 * * *', 'Europe/Berlin', from, 30)).toEqual([])
  expect(gapWarnings(compileSchedule({ everyMs: 1000, timeZone: 'Europe/Berlin' }), from)).toEqual([])
  expect(gapWarnings(compileSchedule({ cron: '30 2 * * *', timeZone: 'Europe/Berlin', dst: { gap: 'run-after' } }), from)).toEqual([])
  expect(gapWarnings(compileSchedule({ cron: '30 2 * * *', timeZone: 'Europe/Berlin', endAt: Date.parse('2027-03-01T00:00:00Z') }), from)).toEqual([])
})
