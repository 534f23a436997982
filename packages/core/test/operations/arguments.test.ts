import { expect, test } from 'vitest'
import { virtualNodes } from '../../src/testing/index.ts'
import type { Operations } from '../../src/executor/operations.ts'

const invalid: readonly (readonly [string, (operations: Record<keyof Operations, (...args: unknown[]) => Promise<unknown>>) => Promise<unknown>])[] = [
  ['no task', ({ pause }) => pause()],
  ['an empty task', ({ resume }) => resume('')],
  ['a task with NUL', ({ trigger }) => trigger('a\0b')],
  ['options that are none', ({ pause }) => pause('job', null)],
  ['a reason that is no text', ({ pause }) => pause('job', { reason: { because: 1 } })],
  ['an empty reason', ({ pause }) => pause('job', { reason: '' })],
  ['a key that is no text', ({ trigger }) => trigger('job', { key: 7 })],
  ['an id that is no text', ({ cancel }) => cancel(42)],
  ['no id', ({ retry }) => retry()],
  ['no schedule', ({ reschedule }) => reschedule('job')],
  ['a schedule that is a text', ({ reschedule }) => reschedule('job', '0 3 * * *')],
  ['a time that is a text', ({ explain }) => explain('job', '2030-01-01T00:00:00Z')],
  ['a date that is none', ({ explain }) => explain('job', new Date('yesterday'))],
  ['a filter that is none', ({ executions }) => executions(null)],
  ['a limit that is SQL', ({ executions }) => executions({ limit: '(SELECT COUNT(*) FROM sched_nodes)' })],
  ['a limit below 1', ({ executions }) => executions({ limit: -1 })],
  ['a limit that is no whole number', ({ executions }) => executions({ limit: 1.5 })],
  ['a limit beyond a page', ({ executions }) => executions({ limit: 10_001 })],
  ['a state that there is not', ({ executions }) => executions({ state: 'done' })],
  ['a lock of no task', ({ locks }) => locks(7)],
  ['a page that begins nowhere', ({ executions }) => executions({ after: { fireTime: '0', executionId: 'x' } })],
]

test.each(invalid)('P10: %s is refused as such', async (_, call) => {
  const cluster = virtualNodes(1, { tasks: (node) => { node.task('job', { everyMs: 3_600_000 }, () => undefined) } })
  await cluster.start()
  const operations = cluster.nodes[0]?.scheduler as unknown as Record<keyof Operations, (...args: unknown[]) => Promise<unknown>>
  const bound = new Proxy(operations, { get: (target, name: keyof Operations) => target[name].bind(target) })
  await expect(cluster.clock.until(call(bound))).rejects.toMatchObject({ code: 'SCHED_OPTION_INVALID', message: expect.stringContaining('expected') as string })
  await cluster.stop()
})
