import { expect, it, vi } from 'vitest'
import { checkNumbers, type NodeNumbers } from '../../src/executor/check-numbers.ts'
import { defineTask, type TaskDefinition, type TaskOptions } from '../../src/executor/task-definition.ts'
import type { StoreDialect } from '../../src/spi/store-dialect.ts'
import { virtualNodes } from '../../src/testing/index.ts'

const task = (name: string, options: TaskOptions): TaskDefinition => defineTask(name, options, () => undefined, {})
const roomy: NodeNumbers = { concurrency: 10, leaseMs: 30_000, heartbeatMs: 10_000, clockUncertaintyMs: 0, poolLimit: undefined }

it('says nothing when the workers suffice in the worst case', () => {
  expect(checkNumbers([task('a', { everyMs: 60_000, timeoutMs: 30_000 }), task('b', { everyMs: 60_000, timeoutMs: 30_000 })], { ...roomy, concurrency: 1 }, Date.now())).toEqual([])
})

it('shows the arithmetic when they do not', () => {
  const [finding] = checkNumbers([task('a', { everyMs: 60_000, timeoutMs: 45_000 }), task('b', { everyMs: 60_000, timeoutMs: 120_000 }), task('c', { everyMs: 60_000, timeoutMs: 120_000, overlap: 'allow' })], { ...roomy, concurrency: 2 }, Date.now())
  expect(finding).toMatchObject({ level: 'warn', code: 'SCHED_WORKERS_BUSY' })
  expect(finding?.message).toContain('would need 3.8 workers, and this instance has 2: c 2.00 (timeoutMs 120000 / period 60000) + b 1.00 (timeoutMs 120000 / period 60000, at most 1) + a 0.75')
})

it('P12: compares the pool with heartbeat, store and one connection per open ctx.transaction', () => {
  expect(checkNumbers([], { ...roomy, poolLimit: 12 }, Date.now())).toEqual([])
  const [finding, ...others] = checkNumbers([], { ...roomy, poolLimit: 11 }, Date.now())
  expect(others).toEqual([])
  expect(finding).toMatchObject({ level: 'warn', code: 'SCHED_UNSAFE_LIMIT' })
  expect(finding?.message).toContain('2 (heartbeat and store) + 10 (concurrency, one per open ctx.transaction) = 12 connections at once, and the pool lends 11')
})

it('P5: compares the lease with two heartbeats once it is known how far the clocks of the servers disagree', () => {
  expect(checkNumbers([], { ...roomy, leaseMs: 4_000, heartbeatMs: 1_250, clockUncertaintyMs: 500 }, Date.now())).toEqual([])
  const [finding] = checkNumbers([], { ...roomy, leaseMs: 4_000, heartbeatMs: 1_300, clockUncertaintyMs: 500 }, Date.now())
  expect(finding).toMatchObject({ level: 'warn', code: 'SCHED_UNSAFE_LIMIT', remedy: 'Take heartbeatMs 1250 or less, or a longer lease.' })
  expect(finding?.message).toContain('leaseMs 4000 less the safety margin 1500 (500 of it because the clocks of the servers may disagree) is 2500, below two heartbeats of 1300')
})

it('P12: a scheduler that starts compares its pool with its own concurrency, once', async () => {
  const cluster = virtualNodes(1, { scheduler: { concurrency: 4 }, tasks: (node) => { node.task('tick', { everyMs: 60_000 }, () => {}) } })
  const [node] = cluster.nodes
  const store = node?.dialect.store as StoreDialect
  const probe = store.probe.bind(store)
  const limited = vi.spyOn(store, 'probe').mockImplementation(async (options) => ({ ...await probe(options), poolLimit: 5 }))
  await cluster.start()
  expect(limited).toHaveBeenCalledOnce()
  expect(node?.events('warning').map(({ finding }) => finding.message)).toEqual([expect.stringContaining('2 (heartbeat and store) + 4 (concurrency, one per open ctx.transaction) = 6 connections')])
  await cluster.stop()
})
