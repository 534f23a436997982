import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { isSchedError } from '../../src/errors.ts'
import { fireTimes, previousFireTime } from '../../src/schedule/fire-times.ts'
import { utcText } from '../../src/schedule/wall-text.ts'
import { cpuMs } from './cpu-time.ts'

interface Case { readonly id: string; readonly expr: string; readonly tz: string; readonly from: string; readonly policy: 'auto' | 'once' | 'both'; readonly next: readonly string[] }
interface Invalid { readonly id: string; readonly expr: string; readonly why: string }

function lines<T>(file: string): T[] {
  return readFileSync(new URL(`data/${file}`, import.meta.url), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as T)
}

const cases = lines<Case>('public.jsonl')
const fields: Readonly<Record<string, string>> = { min: 'minute', hour: 'hour', dom: 'day of month', month: 'month', dow: 'day of week', year: 'year', unknown: 'macro', empty: 'day of month' }

test.each(cases)('$id $expr $tz from $from ($policy)', ({ expr, tz, from, policy, next }) => {
  const options = { timeZone: tz, dst: { overlap: policy } }
  if (next.length === 0) {
    // Never is an error where the rule cannot be met at all, and an empty list where it has run out.
    try {
      expect(fireTimes(expr, { ...options, after: new Date(from), count: 5 })).toEqual([])
    } catch (error) {
      expect(isSchedError(error, 'SCHED_CRON_NEVER')).toBe(true)
    }
    return
  }
  const times = fireTimes(expr, { ...options, after: new Date(from), count: 5 })
  expect(times.map((time) => utcText(time.getTime()))).toEqual(next)
  for (const [i, time] of times.entries()) {
    if (i > 0) expect(previousFireTime(expr, { ...options, at: time })).toEqual(times[i - 1])
  }
})

test.each(lines<Invalid>('invalid.jsonl').map(({ id, expr, why }) => ({ id, expr, why, start: expr.slice(0, 30) })))('$id "$start" is refused: $why', ({ expr, why }) => {
  let thrown: unknown
  const took = cpuMs(() => {
    try {
      fireTimes(expr, { after: new Date(0), count: 1 })
    } catch (error) {
      thrown = error
    }
  })
  expect(isSchedError(thrown, 'SCHED_CRON_SYNTAX')).toBe(true)
  const field = fields[why.split(/[ :]/)[0]!]
  if (field !== undefined) expect((thrown as Error).message).toContain(field)
  expect((thrown as Error).message.length).toBeLessThan(600)
  expect(took).toBeLessThan(50) // 5 ms when the machine is quiet, see the bench
})
