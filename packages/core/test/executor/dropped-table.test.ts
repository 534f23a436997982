import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { printSchema } from '../../src/ledger/migrate.ts'
import { tableNames } from '../../src/ledger/tables.ts'
import type { StoreDialect } from '../../src/spi/store-dialect.ts'
import type { Cluster } from './cluster.ts'
import { onStores } from './on-stores.ts'

function schema(cluster: Cluster): string[] {
  const { sql } = cluster.store.connect().store as StoreDialect
  return printSchema(sql, tableNames(sql), {}).split(';\n').filter((statement) => statement.startsWith('CREATE'))
}

onStores((scenario) => {
  scenario('P10: a table dropped while running is a typed error with a remedy, and the scheduler goes on when it is back', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('tick', { everyMs: 1_000 }, () => {})
    await node.scheduler.start()
    await node.event('execution.succeeded')
    await cluster.query('DROP TABLE sched_executions')
    const { error } = await node.event('error', (event) => (event.error as { code?: string }).code === 'SCHED_TABLE_MISSING')
    expect(error.message).toMatch(/migrate/)
    await sleep(1_500)
    for (const statement of schema(cluster)) await cluster.query(statement)
    const since = node.happened.length
    await node.event('execution.succeeded', (event) => node.happened.slice(since).some((entry) => entry.event === event))
    // The lease was kept on the table that was there, or a new life has begun: either way it works on.
    await cluster.until('rows again', (rows) => rows.filter(({ state }) => state === 'succeeded').length >= 2, 40_000)
  })

  scenario('P10: all tables dropped and made again: the node registers itself and its tasks anew', async (cluster) => {
    const node = cluster.node({ leaseMs: 2_000 })
    node.scheduler.task('tick', { everyMs: 1_000 }, () => {})
    await node.scheduler.start()
    await node.event('execution.succeeded')
    for (const table of ['executions', 'tasks', 'nodes', 'meta', 'locks']) await cluster.query(`DROP TABLE sched_${table}`)
    await node.event('error', (event) => (event.error as { code?: string }).code === 'SCHED_TABLE_MISSING')
    for (const statement of schema(cluster)) await cluster.query(statement)
    await cluster.until('rows again', (rows) => rows.some(({ state }) => state === 'succeeded'), 40_000)
  })
})
