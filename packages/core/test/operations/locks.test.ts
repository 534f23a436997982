import { expect, test } from 'vitest'
import { lockName } from '../../src/spi/lock-name.ts'
import { virtualNodes, type VirtualNode } from '../../src/testing/index.ts'

function workers(lockVeto: 'on' | 'off') {
  return virtualNodes(2, {
    scheduler: { leaseMs: 6000, heartbeatMs: 1000, lockVeto },
    tasks: (node) => {
      node.task('long', { everyMs: 10_000 }, ({ signal }) => node.sleep(8000, signal))
      node.task('other', { everyMs: 3_600_000 }, () => undefined)
    },
  })
}

test('P10: every instance can say which tasks run, where, since when, and who holds the lock beside the ledger', async () => {
  const cluster = workers('on')
  await cluster.start()
  await cluster.advance(12_000)
  const [run] = cluster.runs('long')
  const runner = cluster.nodes.find(({ name }) => name === run?.node) as VirtualNode
  const asked = cluster.nodes.find((node) => node !== runner) as VirtualNode
  const [lock, ...more] = await cluster.clock.until(asked.scheduler.locks())
  expect(more).toEqual([])
  expect(lock).toMatchObject({ task: 'long', gate: { owner: run?.owner, executionId: run?.executionId, fencingToken: run?.fencingToken, alive: true }, lock: { sessionId: expect.anything() as unknown } })
  expect(Math.abs((lock?.gate?.sinceAt ?? 0) - (run?.startedAt ?? 0))).toBeLessThan(100)
  expect(await cluster.clock.until(asked.scheduler.locks('other'))).toEqual([{ task: 'other', gate: null, lock: null }])
  await expect(cluster.clock.until(asked.scheduler.locks('nobody'))).rejects.toMatchObject({ code: 'SCHED_TASK_UNKNOWN' })
  await cluster.advance(7000)
  expect(await cluster.clock.until(asked.scheduler.locks())).toEqual([])
  await cluster.stop()
})

test('P10: a lock that somebody outside the ledger holds is seen beside a free gate', async () => {
  const cluster = workers('on')
  await cluster.start()
  const [node] = cluster.nodes as [VirtualNode]
  const source = node.dialect.locks
  const connection = await cluster.clock.until(source.open('pulse', { signal: new AbortController().signal, leaseMs: 6000, label: 'outsider' }))
  await cluster.clock.until(source.strategy.tryLock(connection, { name: lockName('test', 'task', 'other'), owner: 'outsider', ownerLabel: 'outsider', leaseMs: 6000 }))
  expect(await cluster.clock.until(node.scheduler.locks('other'))).toMatchObject([{ task: 'other', gate: null, lock: { sessionId: connection.id } }])
  expect(await cluster.clock.until(node.scheduler.locks())).toEqual([])
  connection.destroy()
  await cluster.stop()
})

test('P10: without a lock beside the ledger nothing is said of one', async () => {
  const cluster = workers('off')
  await cluster.start()
  expect(await cluster.clock.until(cluster.nodes[0]?.scheduler.locks('other') ?? Promise.reject(new Error('no node')))).toEqual([{ task: 'other', gate: null }])
  await cluster.stop()
})
