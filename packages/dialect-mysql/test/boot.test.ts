import { expect, it } from 'vitest'
import { createScheduler } from '@sched/core'
import { describeServer } from '@sched-dev/databases'
import { printSchema } from '../../core/src/ledger/migrate.ts'
import { tableNames } from '../../core/src/ledger/tables.ts'
import { mysql } from '../src/index.ts'
import { fragments } from '../src/store/fragments.ts'
import { emptyDatabase, everyServer, onlooker } from './support/scene.ts'
import { Cluster, createEffects } from './support/cluster.ts'

const statements = (): string[] => printSchema(fragments, tableNames(fragments), {}).split(';\n').filter((text) => text !== '')

describeServer(everyServer, ({ name: server, url: serverUrl }) => {
  it('P1: ten instances that boot at once on an empty database all start', async () => {
    const cluster = new Cluster(await emptyDatabase(serverUrl))
    await createEffects(cluster.url)
    for (let index = 0; index < 10; index++) cluster.add({ leaseMs: 10_000, heartbeatMs: 3_000 })
    await cluster.started()
    await cluster.runs(2)
    expect(cluster.lines('error')).toEqual([])
    await cluster.stop()
    const first = cluster.lines('start').filter(({ attempt }) => attempt === 1).map(({ fireTime }) => fireTime)
    expect(new Set(first).size).toBe(first.length)
  }, 90_000)

  it('P10: a migration that was broken off after any of its statements, each of which commits by itself, is finished by the next boot', async () => {
    const all = statements()
    expect(all.length).toBeGreaterThan(8)
    for (let done = 0; done <= all.length; done += server === 'galera-1' ? 4 : 2) {
      const url = await emptyDatabase(serverUrl)
      const looker = await onlooker(url)
      for (const statement of all.slice(0, done)) await looker.query(statement)
      const scheduler = createScheduler({ dialect: mysql({ url }), namespace: 'test', signals: false })
      await scheduler.start()
      await scheduler.stop()
      const tables = await looker.query('SELECT table_name AS t FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1')
      expect([done, tables.map(({ t }) => t as string)]).toEqual([done, ['sched_executions', 'sched_locks', 'sched_meta', 'sched_nodes', 'sched_tasks']])
      const [indexes] = await looker.query("SELECT COUNT(DISTINCT index_name) AS n FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'sched_executions'")
      expect([done, Number(indexes?.['n'])]).toEqual([done, 5])
    }
  }, 90_000)

  it('P11: an account that may not create tables is told what is missing, by `migrate: false` with the statements', async () => {
    const url = await emptyDatabase(serverUrl)
    const scheduler = createScheduler({ dialect: mysql({ url }), namespace: 'test', migrate: false, signals: false })
    await expect(scheduler.start()).rejects.toMatchObject({ code: 'SCHED_SCHEMA_MISSING', message: expect.stringContaining('CREATE TABLE IF NOT EXISTS `sched_executions`') as string })
    await scheduler.stop()
    const looker = await onlooker(url)
    for (const statement of statements()) await looker.query(statement)
    const again = createScheduler({ dialect: mysql({ url }), namespace: 'test', migrate: false, signals: false })
    await again.start()
    await again.stop()
  }, 30_000)
})
