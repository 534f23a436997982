import { describeServer } from '@sched-dev/databases'
import { expect, it, onTestFinished } from 'vitest'
import { isSchedError } from '../../src/errors.ts'
import { emptyPostgres } from '../ledger/store-ground.ts'
import { Cluster } from './cluster.ts'
import { execute } from './driver-client.ts'

describeServer('pgbouncer-transaction', ({ url }) => {
  async function opened(): Promise<Cluster> {
    const cluster = new Cluster(await emptyPostgres(url))
    onTestFinished(() => cluster.end())
    return cluster
  }

  it('P11: through a transaction pooler the scheduler works with the ledger alone, and says so once', async () => {
    const cluster = await opened()
    await cluster.query('CREATE TABLE effects (what VARCHAR(40) NOT NULL)')
    const nodes = [1, 2].map(() => {
      const node = cluster.node({ lockVeto: 'auto', leaseMs: 12_000, heartbeatMs: 3_000, drainMs: 20_000 })
      node.scheduler.task('tick', { everyMs: 1_000, misfire: 'run-all' }, (ctx) => ctx.transaction((client) => execute(client, `INSERT INTO effects (what) VALUES ('${ctx.fireTime.getTime()}')`)))
      node.scheduler.task('flaky', { everyMs: 1_000, retry: { max: 1, backoffMs: 100 } }, ({ attempt }) => { if (attempt === 1) throw new Error('once') })
      return node
    })
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    const settled = await cluster.settled('tick', 1_000, { and: (found) => found.filter(({ state }) => state === 'succeeded').length >= 4 })
    await cluster.settled('flaky', 1_000, { and: (found) => found.filter(({ state }) => state === 'succeeded').length >= 2 })
    await Promise.all(nodes.map(({ scheduler }) => scheduler.stop()))
    for (const node of nodes) {
      expect(node.events('warning').filter(({ finding }) => finding.code === 'SCHED_UNSAFE_POOLER')).toMatchObject([{ finding: { level: 'warn', remedy: expect.stringContaining('ledger alone') as string } }])
      expect(node.events('error').map(({ error }) => error.message)).toEqual([])
      expect(node.events('node.lost')).toEqual([])
    }
    // A run that a loaded machine delays may stand in the way of the next.
    const ran = settled.filter(({ error_code }) => error_code !== 'overlap')
    const [last] = settled.slice(-1).map(({ fire_time }) => fire_time as number) as [number]
    expect(new Set(ran.map(({ state }) => state))).toEqual(new Set(['succeeded']))
    const effects = (await cluster.query('SELECT what FROM effects ORDER BY what')).map(({ what }) => Number(what)).filter((fireTime) => fireTime <= last)
    expect(effects).toEqual(ran.map(({ fire_time }) => fire_time))
    const flaky = (await cluster.executions('flaky')).filter(({ state }) => state === 'succeeded')
    expect(new Set(flaky.map(({ attempt }) => attempt))).toEqual(new Set([2]))
  }, 90_000)

  it('P11: with the veto turned on by hand it is refused, with the reason and the way out', async () => {
    const cluster = await opened()
    const node = cluster.node({ lockVeto: 'on' })
    node.scheduler.task('tick', { everyMs: 1_000 }, () => {})
    const error: unknown = await node.scheduler.start().catch((thrown: unknown) => thrown)
    expect(isSchedError(error, 'SCHED_UNSAFE_POOLER')).toBe(true)
    expect((error as { remedy: string }).remedy).toMatch(/session|direct|lock table/i)
  }, 60_000)
})
