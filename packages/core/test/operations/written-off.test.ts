import { describe, expect, it, onTestFinished } from 'vitest'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import { virtualNodes, type VirtualNodes } from '../../src/testing/index.ts'

const scheduler = { leaseMs: 30_000, heartbeatMs: 10_000 }

/** Builds of one service without revisions, each with its definition of the task; a node of the first is started. */
async function deploy(...builds: readonly TaskOptions[]): Promise<VirtualNodes> {
  const cluster = virtualNodes(1, { startAt: '2030-01-05T02:50:00Z', scheduler, tasks: (node) => { node.task('job', builds[node.index] as TaskOptions, () => undefined) } })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  return cluster
}

const at = (time: string): Date => new Date(`2030-01-05T${time}Z`)
const until = <T>(cluster: VirtualNodes, work: Promise<T>): Promise<T> => cluster.clock.until(work)
const missed = (cluster: VirtualNodes): unknown[] => cluster.ledger('job').filter(({ state }) => state === 'missed').map(({ missedFrom, fireTime, missedCount, errorCode }) => [missedFrom, fireTime, missedCount, errorCode])

describe('fire times that are written off', () => {
  it('P1: a pause leaves one record at its end, and explain finds it', async () => {
    const cluster = await deploy({ cron: '0 * * * *' })
    await cluster.advanceTo('2030-01-05T03:30:00Z')
    const [node] = cluster.nodes
    await until(cluster, node!.scheduler.pause('job', { reason: 'stocktaking' }))
    await cluster.advanceTo('2030-01-05T06:30:00Z')
    expect(cluster.ledger('job')).toHaveLength(1)
    await until(cluster, node!.scheduler.resume('job'))
    await cluster.advanceTo('2030-01-05T07:30:00Z')
    expect(missed(cluster)).toEqual([[at('04:00:00'), at('06:00:00'), 3, 'paused']])
    for (const time of ['04:00:00', '05:00:00', '06:00:00']) {
      const { verdict, text } = await until(cluster, node!.scheduler.explain('job', at(time)))
      expect([verdict, text]).toEqual(['missed', expect.stringMatching(/one of 3 fire times .*the task was paused: stocktaking/)])
    }
    expect(cluster.runs('job').at(-1)?.fireTime).toEqual(at('07:00:00'))
    // A pause in which nothing fires leaves nothing.
    await until(cluster, node!.scheduler.pause('job'))
    await cluster.advance(60_000)
    await until(cluster, node!.scheduler.resume('job'))
    expect(missed(cluster)).toHaveLength(1)
  })

  it('P1: a deployment over a fire time that leaves the schedule alone loses nothing', async () => {
    const cluster = await deploy({ cron: '0 3 * * *' }, { cron: '0 3 * * *', timeoutMs: 5000 })
    await cluster.advanceTo('2030-01-05T02:59:50Z')
    await until(cluster, cluster.nodes[0]!.stop())
    await cluster.advanceTo('2030-01-05T03:00:20Z')
    cluster.add()
    await cluster.start()
    await cluster.advance(60_000)
    expect(cluster.ledger('job')).toMatchObject([{ fireTime: at('03:00:00'), state: 'succeeded', origin: 'catchup' }])
  })

  it('P1: a deployment that changes the schedule records what the old one had left, and catches nothing up', async () => {
    const cluster = await deploy({ cron: '*/5 * * * *', timeZone: 'Asia/Shanghai' }, { cron: '*/10 * * * *', timeZone: 'Asia/Shanghai' })
    await cluster.advanceTo('2030-01-05T02:56:00Z')
    await until(cluster, cluster.nodes[0]!.stop())
    await cluster.advanceTo('2030-01-05T03:11:00Z')
    cluster.add()
    await cluster.start()
    await cluster.advance(600_000)
    expect(missed(cluster)).toEqual([[at('03:00:00'), at('03:10:00'), 3, 'redefined']])
    expect(cluster.runs('job').map(({ fireTime }) => fireTime)).toEqual([at('02:55:00'), at('03:20:00')])
  })

  it.each([
    ['the same schedule left when it died is caught up by policy', { everyMs: 5000, timeoutMs: 7000 }, ['missed'], 5000],
    ['another schedule left when it died is recorded', { everyMs: 7000 }, ['redefined'], 7000],
  ] as const)('P1: what a canary of %s', async (_, canary, codes, periodMs) => {
    const cluster = await deploy({ everyMs: 5000 }, canary)
    await cluster.advance(20_000)
    cluster.add()
    await cluster.start()
    await cluster.advance(1000)
    cluster.nodes[1]!.kill()
    await cluster.advance(180_000)
    const records = cluster.ledger('job').filter(({ missedCount }) => missedCount !== null)
    expect(records.map(({ errorCode }) => errorCode)).toEqual(codes)
    const [first, last] = [records[0]?.missedFrom?.getTime() ?? 0, records[0]?.fireTime.getTime() ?? 0]
    expect(records[0]?.missedCount).toBe((last - first) / periodMs + 1)
    expect(first).toBeLessThanOrEqual(at('02:50:25').getTime())
    // The next slot has a row, or is the first of the schedule that took over a moment later.
    const following = cluster.ledger('job').find(({ fireTime }) => fireTime.getTime() > last)
    expect(following).toMatchObject({ state: 'succeeded', origin: periodMs === 5000 ? 'catchup' : 'scheduled' })
    expect((following?.fireTime.getTime() ?? 0) - last).toBeLessThanOrEqual(periodMs + (periodMs === 5000 ? 0 : 5000))
    expect(last).toBeLessThan(at('02:51:45').getTime())
  })

  it('P1: another schedule at run time records what the old one had left; the same one again changes nothing', async () => {
    const cluster = await deploy({ cron: '0 * * * *' })
    const [node] = cluster.nodes
    await until(cluster, node!.scheduler.pause('job'))
    await cluster.advanceTo('2030-01-05T05:30:00Z')
    await until(cluster, node!.scheduler.reschedule('job', { cron: '0 * * * *' }))
    expect(missed(cluster)).toEqual([])
    await until(cluster, node!.scheduler.reschedule('job', { cron: '30 * * * *' }))
    expect(missed(cluster)).toEqual([[at('03:00:00'), at('05:00:00'), 3, 'redefined']])
    await cluster.advanceTo('2030-01-05T08:10:00Z')
    await until(cluster, node!.scheduler.resume('job'))
    expect(missed(cluster)[1]).toEqual([at('06:30:00'), at('07:30:00'), 2, 'paused'])
    await until(cluster, node!.scheduler.reschedule('job', null))
    await cluster.advanceTo('2030-01-05T09:10:00Z')
    expect(cluster.runs('job').map(({ fireTime }) => fireTime)).toEqual([at('09:00:00')])
    expect(missed(cluster)).toHaveLength(2)
  })
})
