import { describe, expect, test } from 'vitest'
import { SchedError } from '../../src/errors.ts'
import { parseCron } from '../../src/schedule/cron/cron-expression.ts'
import { cpuMs } from './cpu-time.ts'

function refusal(expression: string): SchedError {
  try {
    parseCron(expression)
  } catch (error) {
    if (error instanceof SchedError) return error
    throw error
  }
  throw new Error(`${expression} was accepted`)
}

describe('an error says which field, where, what was found and what is allowed', () => {
  test.each([
    ['60 * * * *', 'minute', 1, '60', '0-59'],
    ['*  24 * * *', 'hour', 4, '24', '0-23'],
    ['  0 0 1,32 * *', 'day of month', 9, '32', '1-31, L, L-1 to L-30, 1W to 31W, LW or ?'],
    ['0 0 * jan-foo *', 'month', 11, 'foo', '1-12 or JAN-DEC'],
    ['0 0 * * 8', 'day of week', 9, '8', '0-7 (0 and 7 are Sunday), SUN-SAT, 0L to 7L, a day with #1 to #5, or ?'],
    ['0 0 0 1 1 ? 2027,1969', 'year', 18, '1969', '1970-2199'],
    ['61 0 0 1 1 ?', 'second', 1, '61', '0-59'],
    ['0 0 L-31 * *', 'day of month', 7, '31', '1-30 days before the last'],
    ['0 0 * * 1#6', 'day of week', 11, '6', '1-5 after #, for the first to the fifth'],
    ['*/0 * * * *', 'minute', 3, '0', 'a step of 1 or more, in digits'],
    ['1/2/3 * * * *', 'minute', 3, '2/3', 'a step of 1 or more, in digits'],
    ['0 22-2 * * *', 'hour', 3, '22-2', 'a range whose start is not after its end'],
    ['@every 500ms', 'interval', 8, '500ms', 'whole numbers with the units s, m, h or d, such as 90s or 1h30m'],
    ['@every 0s', 'interval', 8, '0s', '1s or more'],
    ['@every', 'interval', 7, '', 'whole numbers with the units s, m, h or d, such as 90s or 1h30m'],
    ['@daily 5', 'macro', 8, '5', 'nothing after @daily'],
    ['@every 5m now', 'macro', 11, 'now', 'nothing after @every'],
  ])('%s', (expression, field, position, found, expected) => {
    const error = refusal(expression)
    expect(error.code).toBe('SCHED_CRON_SYNTAX')
    expect(error.details).toMatchObject({ field, position, found, expected })
    expect(error.message).toContain(`the ${field} of the cron expression`)
    expect(error.message).toContain(`at character ${position}: found ${JSON.stringify(found)}, expected ${expected}`)
  })
})

describe('an error says the way out', () => {
  test.each([
    ['H H * * *', 'use jitter'],
    ['H/15 * * * *', 'use jitter'],
    ['0 22-2 * * *', 'Write 22-23,0-2'],
    ['0 0 * * FRI-MON', 'Write 5-7,1'],
    ['0 0 * * SAT-SUN', 'Write 6-7'],
    ['0 0 * NOV-JAN *', 'Write 11-12,1'],
    ['1,,2 * * * *', 'extra comma'],
    ['0 0 * * L', 'Write 6L'],
    ['0 0 15w * *', 'Write 15W'],
    ['0 0 lw * *', 'Write LW'],
    ['? * * * *', '? stands alone'],
    ['0 0 ?/2 * *', '? stands alone'],
    ['@Daily', 'Write @daily'],
    ['5', 'Missing fields are not filled in'],
    ['0 0 * * 1, 2', 'the space behind it'],
    ['* * * * * * * *', 'commas, without spaces'],
  ])('%s', (expression, remedy) => {
    expect(refusal(expression).message).toContain(remedy)
  })
})

test.each(['@reboot', '@constructor', '@every1h', '@every 1.5h', '@every -1s', '@every 1h 30m', `@every ${'9'.repeat(20)}d`, '0 0 L-0 * *', '0 0 W * *', '0 0 L-2W * *', '0 0 1-5W * *', '0 0 L/2 * *',
  '0 0 * * MONDAY', '0 0 * * #2', '0 0 * * 1#2#3', '0 0 * * 1L/2', '0 0 * * LL', '0 0 * L *', '0 0 * * *\u00a02027', '-1 * * * *', '1e1 * * * *', '0x1 * * * *', '* * * * * * 2027-2026', '*5 * * * *'])('%s is refused', (expression) => {
  expect(refusal(expression).code).toBe('SCHED_CRON_SYNTAX')
})

test('an expression of 40 kB is refused at once, with the field and a message that can be read', () => {
  for (const [expression, field] of [[`${'1,'.repeat(20_000)}x * * * *`, 'minute'], [`* * * * ${'1L,'.repeat(13_000)}x`, 'day of week'], ['* '.repeat(20_000), 'all']] as const) {
    let error = new SchedError('SCHED_CRON_SYNTAX', 'not refused yet.')
    expect(cpuMs(() => { error = refusal(expression) })).toBeLessThan(50)
    expect(error.details).toMatchObject({ field })
    expect(error.message.length).toBeLessThan(500)
  }
  const years = Array.from({ length: 230 }, (_, i) => 1970 + i).join()
  expect(parseCron(`0 0 0 1 1 ? ${years}`)).toMatchObject({ years: { length: 230 } })
})

test('something that is no string is refused', () => {
  expect(() => parseCron(5 as unknown as string)).toThrow('must be a string, found number')
})

describe('equal meanings are equal values', () => {
  test.each([
    ['1,1,1-1 * * * *', '1 * * * *'],
    ['0 0 * * 0,7,SUN', '0 0 * * 7'],
    ['0 0 * * 5-7', '0 0 * * FRI,SAT,SUN'],
    ['0 0 * * 1/2', '0 0 * * 1,3,5,7'],
    ['0 0 * * */2', '0 0 * * 0,2,4,6'],
    ['0 0 * * MON#2,1#2', '0 0 * * 1#2'],
    ['0 0 * * FRIL', '0 0 * * 5L'],
    ['5/70 * * * *', '5 * * * *'],
    ['*/99 * * * *', '0 * * * *'],
    [' 0\t0  1 feb\n* ', '0 0 1 2 *'],
    ['@midnight', '0 0 * * *'],
    ['@weekdays', '0 0 * * MON-FRI'],
    ['0 0 1 1 ? ', '0 0 01 01 *'],
  ])('%s and %s', (left, right) => {
    expect({ ...parseCron(left), dayText: '' }).toEqual({ ...parseCron(right), dayText: '' })
  })

  test('durations add up', () => {
    expect(parseCron('@every 1d2h3m4s')).toEqual({ kind: 'interval', everyMs: 93_784_000 })
  })
})
