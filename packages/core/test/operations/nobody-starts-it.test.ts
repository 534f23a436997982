import { expect, onTestFinished, test } from 'vitest'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import { delay, virtualNodes, type Step, type VirtualNode, type VirtualNodes } from '../../src/testing/index.ts'

const heartbeatMs = 1000
const retried: TaskOptions = { cron: '0 3 * * *', retry: { max: 1, backoffMs: 60_000 } }

/** One instance per list of tasks, which all throw; each starts when the one before has been up for a while. */
async function instances(lists: readonly Readonly<Record<string, TaskOptions>>[]): Promise<VirtualNodes> {
  const cluster = virtualNodes(1, {
    scheduler: { leaseMs: 6000, heartbeatMs }, startAt: '2030-01-01T02:59:00Z',
    tasks: (node) => { for (const [name, task] of Object.entries(lists[node.index] ?? {})) node.task(name, task, () => { throw new Error('no paper') }) },
  })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  return cluster
}

/** What one instance asks its store from now on, and how overdue it last said something is. */
function watch(cluster: VirtualNodes, node: VirtualNode): { readonly looks: () => number; readonly others: () => number; readonly overdueMs: () => number } {
  const [looks, others]: [string[], string[]] = [[], []]
  let overdueMs = 0
  node.scheduler.on('heartbeat', (beat) => { overdueMs = beat.overdueMs })
  cluster.faults.before(({ purpose, name, text, node: at }: Step) => {
    if (purpose === 'store' && at === node.name) (name === 'due' ? looks : others).push(text)
    return false
  }, delay(0))
  return { looks: () => looks.length, others: () => others.length, overdueMs: () => overdueMs }
}

test('P12: what waits of a paused task costs nothing and is not overdue, until somebody resumes it', async () => {
  const cluster = await instances([{ job: retried }])
  const node = cluster.nodes[0]!
  await cluster.advance(65_000)
  await cluster.clock.until(node.scheduler.pause('job'))
  await cluster.advance(120_000)
  expect(cluster.ledger('job')).toMatchObject([{ state: 'retry' }])
  const seen = watch(cluster, node)
  await cluster.advance(100 * heartbeatMs)
  expect([seen.looks(), seen.others(), seen.overdueMs()]).toEqual([0, 0, 0])
  await cluster.clock.until(node.scheduler.resume('job'))
  await cluster.advance(2 * heartbeatMs)
  expect(cluster.ledger('job')).toMatchObject([{ state: 'failed', attempt: 2 }])
})

test('P12 P6: what nobody carries is overdue and looked for less and less; what comes to it is found at the next heartbeat', async () => {
  const cluster = await instances([{ gone: retried }, { mine: retried }, { mine: retried }])
  await cluster.advance(65_000)
  expect(cluster.ledger('gone')).toMatchObject([{ state: 'retry' }])
  await cluster.clock.until(cluster.nodes[0]!.stop())
  const [node, other] = [cluster.add(), cluster.add()]
  await cluster.start()
  await cluster.advance(120_000)
  const seen = watch(cluster, node)
  await cluster.advance(160 * heartbeatMs)
  expect(seen.looks()).toBeGreaterThan(0)
  expect(seen.looks()).toBeLessThanOrEqual(16)
  expect(seen.overdueMs()).toBeGreaterThan(200_000)
  // The other one is asked, and gone before it looks.
  await cluster.clock.until(other.scheduler.trigger('mine'))
  other.kill()
  await cluster.advance(heartbeatMs + 100)
  expect(cluster.runs()).toMatchObject([{ task: 'gone' }, { task: 'mine', node: node.name }])
})
