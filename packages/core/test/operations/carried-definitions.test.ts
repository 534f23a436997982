import { describe, expect, it, onTestFinished } from 'vitest'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import { delay, virtualNodes, type VirtualNode, type VirtualNodes } from '../../src/testing/index.ts'

const scheduler = { leaseMs: 30_000, heartbeatMs: 10_000 }
type Tasks = Readonly<Record<string, TaskOptions>>

/** Each build: its revision and its tasks. A node of the first is started. */
async function deploy(builds: readonly { revision: number; tasks: Tasks }[]): Promise<VirtualNodes> {
  const build = (index: number): { revision: number; tasks: Tasks } => builds[index] as (typeof builds)[number]
  const cluster = virtualNodes(1, {
    startAt: '2030-01-05T02:50:00Z', scheduler: (index) => ({ ...scheduler, revision: build(index).revision }),
    tasks: (node) => { for (const [name, options] of Object.entries(build(node.index).tasks)) node.task(name, options, () => undefined) },
  })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  return cluster
}

async function next(cluster: VirtualNodes): Promise<VirtualNode> {
  const node = cluster.add()
  await cluster.start()
  return node
}

function runsSince(cluster: VirtualNodes, task: string, since: number): string[] {
  return [...new Set(cluster.runs(task).filter(({ startedAt }) => startedAt > since).map(({ node }) => node))]
}

describe('definitions and who carries them', () => {
  it('P12: many tasks that are defined anew and due at once cost the old node a few reads of the tasks, not one for each', async () => {
    const tasks = (timeoutMs: number): Tasks => Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`job-${index}`, { everyMs: 60_000, timeoutMs }]))
    const cluster = await deploy([{ revision: 1, tasks: tasks(5000) }, { revision: 2, tasks: tasks(6000) }])
    await cluster.advance(57_000)
    let reads = 0
    cluster.faults.before(({ text, node }) => {
      reads += node === 'node-0' && text.startsWith('SELECT task_name, definition_hash') ? 1 : 0
      return false
    }, delay(0))
    await next(cluster)
    await cluster.advance(5000)
    expect(cluster.nodes[0]?.events('definition.superseded')).toHaveLength(100)
    expect(reads).toBeLessThan(5)
  })

  it('P1: a higher revision that was away rules again when it comes back', async () => {
    const cluster = await deploy([{ revision: 1, tasks: { job: { everyMs: 10_000 } } }, { revision: 2, tasks: { job: { everyMs: 10_000, timeoutMs: 5000 } } }])
    const newer = await next(cluster)
    await cluster.advance(60_000)
    newer.freeze()
    const frozenAt = cluster.clock.worldMs()
    await cluster.advance(100_000)
    expect(runsSince(cluster, 'job', frozenAt + 75_000)).toEqual(['node-0'])
    newer.thaw()
    await cluster.advance(2 * scheduler.heartbeatMs)
    const backAt = cluster.clock.worldMs()
    await cluster.advance(600_000)
    expect(runsSince(cluster, 'job', backAt)).toEqual(['node-1'])
    expect(await cluster.clock.until(newer.scheduler.tasks())).toMatchObject([{ revision: 2 }])
  })

  it('P1: without revisions a node that comes back is no later boot', async () => {
    const cluster = await deploy([{ revision: 0, tasks: { job: { everyMs: 10_000 } } }, { revision: 0, tasks: { job: { everyMs: 10_000, timeoutMs: 5000 } } }])
    await next(cluster)
    await cluster.advance(20_000)
    cluster.nodes[0]?.freeze()
    await cluster.advance(100_000)
    cluster.nodes[0]?.thaw()
    const backAt = cluster.clock.worldMs()
    await cluster.advance(600_000)
    expect(runsSince(cluster, 'job', backAt)).toEqual(['node-1'])
  })

  const removal = [{ revision: 1, tasks: { bill: { everyMs: 60_000 } } }, { revision: 2, tasks: {} }, { revision: 1, tasks: { bill: { everyMs: 60_000 } } }]

  it('P6: a rollback brings back a task that the newer revision had removed', async () => {
    const cluster = await deploy(removal)
    const newer = await next(cluster)
    await cluster.clock.until(cluster.nodes[0]!.stop())
    await cluster.advance(300_000)
    expect(cluster.runs('bill')).toEqual([])
    await cluster.clock.until(newer.stop())
    const back = await next(cluster)
    await cluster.advance(300_000)
    expect(cluster.runs('bill').map(({ node }) => node)).toEqual(Array.from({ length: 5 }, () => 'node-2'))
    expect(cluster.ledger('bill')[0]).toMatchObject({ state: 'missed', errorCode: 'retired' })
    expect(await cluster.clock.until(back.scheduler.tasks())).toMatchObject([{ state: 'active', reason: null, revision: 1 }])
  })

  it('P6: an old instance takes its task up again when the revision that removed it is gone, and not before', async () => {
    const cluster = await deploy(removal)
    const newer = await next(cluster)
    await cluster.advance(3_600_000)
    expect(cluster.runs('bill')).toEqual([])
    await expect(cluster.clock.until(newer.scheduler.resume('bill'))).rejects.toThrow(/SCHED_TASK_UNKNOWN.*revision 2 no longer has it.*comes back/s)
    await cluster.clock.until(newer.stop())
    const goneAt = cluster.clock.worldMs()
    await cluster.advance(300_000)
    expect(cluster.runs('bill')[0]?.startedAt).toBeLessThan(goneAt + 120_000)
    expect(cluster.runs('bill').length).toBeGreaterThanOrEqual(4)
  })

  it('P1: a tombstone outlives the node that set it as long as its revision lives', async () => {
    const cluster = await deploy([...removal.slice(0, 2), { revision: 2, tasks: {} }])
    const newer = await next(cluster)
    await next(cluster)
    await cluster.clock.until(newer.stop())
    await cluster.advance(1_800_000)
    expect(cluster.runs('bill')).toEqual([])
  })

  it('P6: what waits of a removed task ends with it, and pages nobody; so does what becomes a retry later', async () => {
    const cluster = virtualNodes(1, {
      startAt: '2030-01-05T02:50:00Z', scheduler: (index) => ({ ...scheduler, revision: index + 1 }),
      tasks: (node) => {
        node.task('kept', { cron: '0 0 1 1 *' }, () => undefined)
        if (node.index > 0) return
        node.task('waits', { cron: '51 2 * * *', retry: { max: 5, backoffMs: 120_000 } }, () => { throw new Error('not now') })
        node.task('runs', { cron: '51 2 * * *', retry: { max: 5, backoffMs: 120_000 } }, async ({ signal }) => { await node.sleep(90_000, signal); throw new Error('not now') })
      },
    })
    onTestFinished(() => cluster.stop())
    await cluster.start()
    await cluster.advance(65_000)
    const node = cluster.add()
    let overdueMs = 0
    node.scheduler.on('heartbeat', (beat) => { overdueMs = Math.max(overdueMs, beat.overdueMs) })
    await cluster.start()
    expect(cluster.ledger('waits')).toMatchObject([{ state: 'failed', errorCode: 'SCHED_TASK_RETIRED' }])
    expect(await cluster.clock.until(node.scheduler.explain('waits', new Date('2030-01-05T02:51:00Z')))).toMatchObject({ verdict: 'failed' })
    await cluster.advance(120_000)
    expect(cluster.ledger('runs')).toMatchObject([{ state: 'retry' }])
    await cluster.advance(2 * 3_600_000)
    expect(cluster.ledger('runs')).toMatchObject([{ state: 'failed', errorCode: 'SCHED_TASK_RETIRED' }])
    expect(overdueMs).toBe(0)
  })

  it('P12: a task that was removed without revisions costs the others next to nothing, and finds them at once when it is theirs', async () => {
    const cluster = await deploy([
      { revision: 0, tasks: { job: { everyMs: 3_600_000 }, gone: { everyMs: 3_600_000 } } },
      { revision: 0, tasks: { job: { everyMs: 3_600_000 } } },
      { revision: 0, tasks: { job: { everyMs: 3_600_000, timeoutMs: 5000 } } },
    ])
    await next(cluster)
    await cluster.clock.until(cluster.nodes[0]!.stop())
    await cluster.advance(60_000)
    const looks = cluster.faults.before(/^SELECT t\.task_name, t\.definition_hash/, delay(1), { times: Infinity })
    await cluster.advance(3_600_000)
    expect(looks.hits).toBeLessThanOrEqual(10)
    // A canary takes over the other task, and dies.
    const canary = await next(cluster)
    await cluster.clock.until(canary.stop())
    const goneAt = cluster.clock.worldMs()
    await cluster.advance(6 * scheduler.heartbeatMs)
    expect(looks.hits).toBeGreaterThan(3)
    await cluster.advance(3_600_000)
    expect(cluster.runs('job').at(-1)?.startedAt).toBeGreaterThan(goneAt)
  })
})
