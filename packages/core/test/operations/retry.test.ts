import { expect, test } from 'vitest'
import { virtualNodes, type VirtualHandler, type VirtualNode, type VirtualNodes } from '../../src/testing/index.ts'
import type { TaskOptions } from '../../src/executor/task-definition.ts'

const heartbeatMs = 1000
const day = (number: number): number => Date.UTC(2030, 0, number, 3)

function nightly(handler: VirtualHandler, options: Partial<TaskOptions> = {}): VirtualNodes {
  return virtualNodes(2, {
    scheduler: { leaseMs: 6000, heartbeatMs, drainMs: 1000 }, startAt: '2030-01-01T02:59:00Z',
    tasks: (node) => { node.task('nightly', { cron: '0 3 * * *', ...options }, handler) },
  })
}

const nodes = (cluster: VirtualNodes): [VirtualNode, VirtualNode] => cluster.nodes as unknown as [VirtualNode, VirtualNode]

test('P6: a failed execution is retried by hand, by the asked instance at once', async () => {
  let broken = true
  const lateness: number[] = []
  const cluster = nightly(({ lateMs }) => { lateness.push(lateMs); if (broken) throw new Error('no paper') })
  await cluster.start()
  await cluster.advanceTo('2030-01-01T03:05:00Z')
  const [failed] = cluster.ledger()
  expect(failed).toMatchObject({ state: 'failed', attempt: 1 })
  broken = false
  const [asked] = nodes(cluster)
  expect(await cluster.clock.until(asked.scheduler.retry(failed?.executionId as string))).toBe('retried')
  await cluster.advance(50)
  expect(cluster.runs()).toMatchObject([{ reason: 'scheduled', attempt: 1 }, { reason: 'manual', attempt: 2, node: asked.name, executionId: failed?.executionId, fireTime: new Date(day(1)) }])
  expect(lateness[1]).toBeGreaterThanOrEqual(300_000)
  expect(lateness[1]).toBeLessThan(300_000 + 100)
  expect(cluster.ledger()).toMatchObject([{ state: 'succeeded', attempt: 2, errorCode: null }])
  expect(await cluster.clock.until(asked.scheduler.retry(failed?.executionId as string))).toBe('succeeded')
  await cluster.stop()
})

test('P6: the other instances find it at their next heartbeat', async () => {
  const cluster = nightly(({ attempt }) => { if (attempt === 1) throw new Error('no paper') })
  await cluster.start()
  await cluster.advance(65_000)
  const [asked, other] = nodes(cluster)
  expect(await cluster.clock.until(asked.scheduler.retry(cluster.ledger()[0]?.executionId as string))).toBe('retried')
  asked.freeze()
  await cluster.advance(heartbeatMs + 100)
  expect(cluster.runs()).toMatchObject([{ attempt: 1 }, { attempt: 2, node: other.name, reason: 'manual' }])
  asked.thaw()
  await cluster.stop()
})

test('P6: a retry by hand is one attempt: when it throws, the execution has failed again', async () => {
  const cluster = nightly(() => { throw new Error('no paper') }, { retry: { max: 1, backoffMs: 1000 } })
  await cluster.start()
  await cluster.advance(70_000)
  const [failed] = cluster.ledger()
  expect(failed).toMatchObject({ state: 'failed', attempt: 2 })
  await cluster.clock.until(nodes(cluster)[1].scheduler.retry(failed?.executionId as string))
  await cluster.advance(60_000)
  expect(cluster.runs().map(({ attempt, reason }) => [attempt, reason])).toEqual([[1, 'scheduled'], [2, 'retry'], [3, 'manual']])
  expect(cluster.ledger()).toMatchObject([{ state: 'failed', attempt: 3 }])
  await cluster.stop()
})

test('P6: a record of many missed fire times is retried for the latest of them, also while its task waits for a person', async () => {
  const cluster = nightly(() => undefined, { misfire: 'stall' })
  await cluster.start()
  await cluster.advanceTo('2030-01-01T03:01:00Z')
  for (const node of cluster.nodes) node.kill()
  await cluster.advanceTo('2030-01-06T23:00:00Z')
  const heir = cluster.add()
  await cluster.start()
  await cluster.advance(10_000)
  const range = cluster.ledger().find(({ missedCount }) => missedCount !== null)
  expect(range).toMatchObject({ state: 'missed', missedFrom: new Date(day(2)) })
  expect(await cluster.clock.until(heir.scheduler.tasks())).toMatchObject([{ state: 'stalled' }])
  const before = cluster.runs().length
  expect(await cluster.clock.until(heir.scheduler.retry(range?.executionId as string))).toBe('retried')
  await cluster.advance(2000)
  expect(cluster.runs().slice(before)).toMatchObject([{ reason: 'manual', attempt: 1, outcome: 'returned', fireTime: range?.fireTime }])
  expect(cluster.ledger().find(({ executionId }) => executionId === range?.executionId)).toMatchObject({ state: 'succeeded', missedFrom: new Date(day(2)), missedCount: range?.missedCount })
  await cluster.stop()
})

test.each(['stop', 'kill'] as const)('P6: a retry by hand in a paused task goes on when its instance leaves (%s)', async (how) => {
  const cluster = nightly(async ({ attempt, signal }, node) => {
    if (attempt === 1) throw new Error('no paper')
    await node.sleep(30_000, signal)
    signal.throwIfAborted()
  })
  await cluster.start()
  await cluster.advance(65_000)
  const [asked, other] = nodes(cluster)
  await cluster.clock.until(asked.scheduler.pause('nightly'))
  await cluster.advance(2 * heartbeatMs)
  expect(await cluster.clock.until(asked.scheduler.retry(cluster.ledger()[0]?.executionId as string))).toBe('retried')
  await cluster.advance(500)
  const began = cluster.runs()[1]?.node
  const [leaving, heir] = began === asked.name ? [asked, other] : [other, asked]
  if (how === 'stop') await cluster.clock.until(leaving.stop())
  else leaving.kill()
  await cluster.advance(60_000)
  expect(cluster.runs().slice(1)).toMatchObject([{ reason: 'manual', node: leaving.name }, { reason: 'manual', node: heir.name, outcome: 'returned' }])
  expect(cluster.ledger()).toMatchObject([{ state: 'succeeded' }])
  await cluster.stop()
})
