import { expect, test } from 'vitest'
import { kill, virtualNodes, type VirtualNode, type VirtualNodes, type VirtualNodesOptions } from '../../src/testing/index.ts'

const scheduler = { leaseMs: 6000, heartbeatMs: 1000 } as const

function ticking(count: number, options: Partial<VirtualNodesOptions> = {}, workMs = 200): VirtualNodes {
  return virtualNodes(count, { scheduler, tasks: (node) => { node.task('tick', { everyMs: 1000 }, ({ signal }) => node.sleep(workMs, signal)) }, ...options })
}

function runnerOf(cluster: VirtualNodes): VirtualNode {
  const run = cluster.runs().find(({ outcome }) => outcome === 'running')
  const node = cluster.nodes.find(({ name }) => name === run?.node)
  if (node === undefined) throw new Error('nothing runs')
  return node
}

test('each fire time runs once, on one of the nodes', async () => {
  const cluster = ticking(3)
  await cluster.start()
  await cluster.advance(10_500)
  expect(cluster.runs('tick').map(({ fireTime }) => fireTime.getTime() - Date.UTC(2030, 0, 1))).toEqual([1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000])
  expect(cluster.ledger('tick').every(({ state }) => state === 'succeeded')).toBe(true)
  expect(cluster.nodes.flatMap(({ errors }) => errors)).toEqual([])
  await cluster.stop()
})

test('clocks that differ by hours, drift, and messages that take time change nothing', async () => {
  const cluster = ticking(3, { clocks: (index) => ({ skewMs: (index - 1) * 3_600_000, driftPpm: (index - 1) * 400 }), database: { latencyMs: 3, aheadMs: 90_000 } })
  await cluster.start()
  await cluster.advance(10_500)
  expect(cluster.ledger('tick').map(({ state }) => state)).toEqual(Array.from({ length: 10 }, () => 'succeeded'))
  expect(cluster.runs('tick').map(({ fireTime, startedAt }) => Math.round(startedAt + 90_000 - fireTime.getTime())).every((lateMs) => lateMs >= 0 && lateMs < 100)).toBe(true)
  await cluster.stop()
})

test('a node that is killed at its COMMIT is replaced by the others', async () => {
  const cluster = ticking(2)
  await cluster.start()
  cluster.faults.before('finish COMMIT', kill('before-send'))
  await cluster.advance(12_000)
  const [first] = cluster.ledger('tick')
  expect(first).toMatchObject({ state: 'succeeded', attempt: 2, crashCount: 1 })
  expect(cluster.nodes.filter(({ alive }) => !alive)).toHaveLength(1)
  const [dead, living] = cluster.runs('tick').filter(({ executionId }) => executionId === first?.executionId)
  expect([dead?.outcome, living?.outcome, living?.reason, (living?.fencingToken ?? 0) > (dead?.fencingToken ?? 0)]).toEqual(['returned', 'returned', 'recovered', true])
  expect((living?.startedAt ?? 0) - (dead?.endedAt ?? 0)).toBeLessThanOrEqual(scheduler.leaseMs + scheduler.heartbeatMs)
  await cluster.stop()
})

test('a node that was frozen past its lease finds its work taken over when it wakes', async () => {
  const cluster = ticking(2, {}, 3000)
  await cluster.start()
  await cluster.advance(1500)
  const node = runnerOf(cluster)
  node.freeze()
  await cluster.advance(9000)
  const [zombie, heir] = cluster.runs('tick').slice(0, 2)
  expect([zombie?.outcome, heir?.reason, heir?.executionId === zombie?.executionId, heir?.node === node.name]).toEqual(['running', 'recovered', true, false])
  node.thaw()
  await cluster.advance(1000)
  expect(cluster.runs('tick')[0]?.outcome).toBe('threw')
  expect(node.events('node.lost')).toHaveLength(1)
  expect(node.events('execution.fenced').map(({ owner }) => owner)).toEqual([zombie?.owner])
  await cluster.stop()
})

test('a further node joins, and what a handler throws is in the journal', async () => {
  const cluster = virtualNodes(1, { scheduler, tasks: (node) => { node.task('tick', { everyMs: 1000 }, () => { throw new Error(`not on ${node.name}`) }) } })
  await cluster.start()
  cluster.add()
  await cluster.start()
  await cluster.advance(1500)
  expect(cluster.nodes.map(({ name }) => name)).toEqual(['node-0', 'node-1'])
  expect(cluster.runs()).toMatchObject([{ outcome: 'threw', error: { message: expect.stringContaining('not on node-') as string } }])
  await cluster.stop()
})

test('a node that cannot start says so', async () => {
  const cluster = ticking(1)
  cluster.database.stop()
  await expect(cluster.start()).rejects.toMatchObject({ code: 'SCHED_DATABASE_UNREACHABLE' })
})
