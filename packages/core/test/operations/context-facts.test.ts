import { expect, test } from 'vitest'
import type { TaskContext } from '../../src/executor/task-context.ts'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import { virtualNodes, type VirtualNode, type VirtualNodes, type VirtualNodesOptions } from '../../src/testing/index.ts'

type Facts = Pick<TaskContext, 'reason' | 'lateMs' | 'attempt' | 'fireTime'>

const three = new Date('2030-01-01T03:00:00Z')
const minute = 60_000
/** What claiming and starting take at most, on a machine of no time at all. */
const promptMs = 100

/** A task at three in the morning, and what its contexts said. */
function nightly(work: (node: VirtualNode, context: TaskContext) => unknown, options: Partial<TaskOptions> = {}, more: Partial<VirtualNodesOptions> = {}): { cluster: VirtualNodes; facts: Facts[] } {
  const facts: Facts[] = []
  const cluster = virtualNodes(2, {
    scheduler: { leaseMs: 6000, heartbeatMs: 1000 }, startAt: '2030-01-01T02:59:00Z',
    tasks: (node) => {
      node.task('nightly', { cron: '0 3 * * *', ...options }, (context) => {
        const { reason, lateMs, attempt, fireTime } = context
        facts.push({ reason, lateMs, attempt, fireTime })
        return work(node, context)
      })
    },
    ...more,
  })
  return { cluster, facts }
}

/** These attempts of one fire time, each so late, by the database's clock. */
function expectFacts(facts: readonly Facts[], expected: readonly (readonly [reason: Facts['reason'], attempt: number, lateMs: number, withinMs?: number])[]): void {
  expect(facts.map(({ reason, attempt }) => [reason, attempt])).toEqual(expected.map(([reason, attempt]) => [reason, attempt]))
  for (const [index, [, , lateMs, withinMs = promptMs]] of expected.entries()) {
    expect(facts[index]?.lateMs).toBeGreaterThanOrEqual(lateMs)
    expect(facts[index]?.lateMs).toBeLessThanOrEqual(lateMs + withinMs)
  }
}

test('P9: a scheduled run is on time by the database\'s clock, whatever the host says', async () => {
  const { cluster, facts } = nightly(() => undefined, {}, { clocks: () => ({ skewMs: 3 * minute }), database: { aheadMs: 10_000 } })
  await cluster.start()
  await cluster.advance(2 * minute)
  expectFacts(facts, [['scheduled', 1, 0]])
  expect(facts[0]?.fireTime).toEqual(three)
  await cluster.stop()
})

test('P9: jitter is part of the lateness', async () => {
  const { cluster, facts } = nightly(() => undefined, { jitterMs: 10 * minute })
  await cluster.start()
  await cluster.advance(12 * minute)
  const [entry] = cluster.ledger()
  expectFacts(facts, [['scheduled', 1, (entry?.dueAt ?? 0) - three.getTime()]])
  expect(facts[0]?.lateMs).toBeGreaterThan(1000)
  await cluster.stop()
})

test('P9: a retry is late by its backoff and by what the attempt before it took', async () => {
  const { cluster, facts } = nightly(async (node, { attempt }) => {
    await node.sleep(20_000)
    if (attempt < 3) throw new Error('no paper')
  }, { retry: { max: 2, backoffMs: minute } })
  await cluster.start()
  await cluster.advance(6 * minute)
  expectFacts(facts, [['scheduled', 1, 0], ['retry', 2, 80_000], ['retry', 3, 160_000, 2 * promptMs]])
  expect(facts.map(({ fireTime }) => fireTime)).toEqual([three, three, three])
  await cluster.stop()
})

test('P9: a slot that was caught up after an outage is as late as the outage was long', async () => {
  const { cluster, facts } = nightly(() => undefined)
  await cluster.start()
  for (const node of cluster.nodes) node.kill()
  await cluster.advanceTo('2030-01-01T03:20:00Z')
  cluster.add()
  await cluster.start()
  await cluster.advance(5000)
  expectFacts(facts, [['catchup', 1, 20 * minute, 5000]])
  expect(facts[0]?.fireTime).toEqual(three)
  await cluster.stop()
})

test('P9: an attempt that takes over from a dead instance is late by what that took', async () => {
  const { cluster, facts } = nightly((node, { signal }) => node.sleep(minute, signal))
  await cluster.start()
  await cluster.advanceTo('2030-01-01T03:00:10Z')
  cluster.nodes.find(({ name }) => name === cluster.runs()[0]?.node)?.kill()
  await cluster.advance(minute)
  expectFacts(facts, [['scheduled', 1, 0], ['recovered', 2, 10_000 + 4000, 4000]])
  await cluster.stop()
})

test('P9: an attempt that a drain interrupted goes on elsewhere under its number, and says so', async () => {
  const { cluster, facts } = nightly((node, { signal }) => node.sleep(minute, signal), {}, { scheduler: { leaseMs: 6000, heartbeatMs: 1000, drainMs: 2000 } })
  await cluster.start()
  await cluster.advanceTo('2030-01-01T03:00:10Z')
  const runner = cluster.nodes.find(({ name }) => name === cluster.runs()[0]?.node)
  await cluster.clock.until(runner?.stop() ?? Promise.reject(new Error('nothing runs')))
  await cluster.advance(minute)
  expectFacts(facts, [['scheduled', 1, 0], ['interrupted', 1, 12_000, 1500]])
  await cluster.stop()
})

test('P9: what is triggered by hand fires then, and is not late', async () => {
  const { cluster, facts } = nightly(() => undefined)
  await cluster.start()
  const before = cluster.clock.worldMs()
  await cluster.clock.until(cluster.nodes[0]?.scheduler.trigger('nightly') ?? Promise.reject(new Error('no node')))
  await cluster.advance(2000)
  expectFacts(facts, [['manual', 1, 0]])
  expect(Math.abs((facts[0]?.fireTime.getTime() ?? 0) - before)).toBeLessThan(promptMs)
  await cluster.stop()
})
