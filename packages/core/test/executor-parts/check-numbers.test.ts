import { expect, it } from 'vitest'
import { checkNumbers } from '../../src/executor/check-numbers.ts'
import { defineTask, type TaskDefinition, type TaskOptions } from '../../src/executor/task-definition.ts'

const task = (name: string, options: TaskOptions): TaskDefinition => defineTask(name, options, () => undefined, {})

it('says nothing when the workers suffice in the worst case', () => {
  expect(checkNumbers([task('a', { everyMs: 60_000, timeoutMs: 30_000 }), task('b', { everyMs: 60_000, timeoutMs: 30_000 })], 1, Date.now())).toEqual([])
})

it('shows the arithmetic when they do not', () => {
  const [finding] = checkNumbers([task('a', { everyMs: 60_000, timeoutMs: 45_000 }), task('b', { everyMs: 60_000, timeoutMs: 120_000 }), task('c', { everyMs: 60_000, timeoutMs: 120_000, overlap: 'allow' })], 2, Date.now())
  expect(finding).toMatchObject({ level: 'warn', code: 'SCHED_WORKERS_BUSY' })
  expect(finding?.message).toContain('would need 3.8 workers, and this instance has 2: c 2.00 (timeoutMs 120000 / period 60000) + b 1.00 (timeoutMs 120000 / period 60000, at most 1) + a 0.75')
})
