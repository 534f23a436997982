import { setTimeout as sleep } from 'node:timers/promises'
import { describeServer } from '@sched-dev/databases'
import { expect, it, onTestFinished } from 'vitest'
import { isSchedError } from '../../src/errors.ts'
import { emptyPostgres } from '../ledger/store-ground.ts'
import { Cluster } from './cluster.ts'
import { execute } from './handlers.ts'

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
      const node = cluster.node({ lockVeto: 'auto' })
      node.scheduler.task('tick', { everyMs: 1_000 }, (ctx) => ctx.transaction((client) => execute(client, `INSERT INTO effects (what) VALUES ('${ctx.fireTime.getTime()}')`)))
      node.scheduler.task('flaky', { everyMs: 1_000, retry: { max: 1, backoffMs: 100 } }, ({ attempt }) => { if (attempt === 1) throw new Error('once') })
      return node
    })
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    await sleep(5_000)
    await Promise.all(nodes.map(({ scheduler }) => scheduler.stop()))
    for (const node of nodes) {
      expect(node.events('warning').filter(({ finding }) => finding.code === 'SCHED_UNSAFE_POOLER')).toMatchObject([{ finding: { level: 'warn', remedy: expect.stringContaining('ledger alone') as string } }])
      expect(node.events('error').map(({ error }) => error.message)).toEqual([])
      expect(node.events('node.lost')).toEqual([])
    }
    const rows = await cluster.executions('tick')
    const fireTimes = rows.map(({ fire_time }) => fire_time as number)
    expect(rows.length).toBeGreaterThanOrEqual(4)
    expect(fireTimes).toEqual(fireTimes.map((_, index) => (fireTimes[0] as number) + index * 1_000))
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['succeeded']))
    expect((await cluster.query('SELECT what FROM effects ORDER BY what')).map(({ what }) => Number(what))).toEqual(fireTimes)
    expect(new Set((await cluster.executions('flaky')).map(({ state, attempt }) => `${state as string} ${attempt as number}`))).toEqual(new Set(['succeeded 2']))
  }, 30_000)

  it('P11: with the veto turned on by hand it is refused, with the reason and the way out', async () => {
    const cluster = await opened()
    const node = cluster.node({ lockVeto: 'on' })
    node.scheduler.task('tick', { everyMs: 1_000 }, () => {})
    const error: unknown = await node.scheduler.start().catch((thrown: unknown) => thrown)
    expect(isSchedError(error, 'SCHED_UNSAFE_POOLER')).toBe(true)
    expect((error as { remedy: string }).remedy).toMatch(/session|direct|lock table/i)
  }, 20_000)
})
