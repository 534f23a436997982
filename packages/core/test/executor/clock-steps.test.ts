import { expect } from 'vitest'
import type { Dialect } from '../../src/spi/dialect.ts'
import type { StoreDialect } from '../../src/spi/store-dialect.ts'
import type { Cluster } from './cluster.ts'
import { runTogether } from './scenarios.ts'

/** A dialect whose server's clock can be set: the same database, its clock read through a table. SQLite's own is the host's. */
function withSettableClock(dialect: Dialect): Dialect {
  const store = dialect.store as StoreDialect
  return { ...dialect, store: { ...store, sql: { ...store.sql, nowMs: `(${store.sql.nowMs} + (SELECT shift_ms FROM clock_shift))` } } }
}

async function setUp(cluster: Cluster, options: { leaseMs: number; heartbeatMs: number }) {
  await cluster.query('CREATE TABLE clock_shift (shift_ms INTEGER NOT NULL)')
  await cluster.query('INSERT INTO clock_shift VALUES (0)')
  const nodes = [1, 2].map(() => {
    const node = cluster.node(options, withSettableClock(cluster.store.connect()))
    // Whatever a loaded machine is late for runs all the same, beside the next one: each fire time must succeed.
    node.scheduler.task('tick', { everyMs: 1_000, misfire: 'run-all', overlap: 'allow' }, () => {})
    return node
  })
  await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
  await cluster.until('two runs', (rows) => rows.filter(({ state }) => state === 'succeeded').length >= 2, 40_000)
  return { nodes, step: (ms: number) => cluster.query(`UPDATE clock_shift SET shift_ms = shift_ms + (${ms})`) }
}

async function stepBack(cluster: Cluster): Promise<void> {
  // Less than the margin of 1 s, more than a slot may be claimed early: every node's timer fires before its time.
  const { nodes, step } = await setUp(cluster, { leaseMs: 20_000, heartbeatMs: 6_000 })
  await step(-800)
  const before = (await cluster.executions('tick')).length
  const rows = await cluster.settled('tick', 1_000, { and: (found) => found.length >= before + 5 })
  const fireTimes = rows.map(({ fire_time }) => fire_time as number)
  expect(fireTimes).toEqual(fireTimes.map((_, index) => (fireTimes[0] as number) + index * 1_000))
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['succeeded']))
  expect(nodes.flatMap((node) => node.events('node.lost'))).toEqual([])
  // Nobody ran before its time by the database's clock.
  for (const { lateMs } of nodes.flatMap((node) => node.events('execution.started'))) expect(lateMs).toBeGreaterThanOrEqual(0)
}

async function jump(cluster: Cluster): Promise<void> {
  const { nodes, step } = await setUp(cluster, { leaseMs: 12_000, heartbeatMs: 500 })
  const before = (await cluster.executions('tick')).at(-1)?.['fire_time'] as number
  await step(3_000)
  // Beyond the margin: no lease may be believed in, the offset is read anew, and the schedule goes on by the new clock.
  for (const node of nodes) await node.event('node.lost', ({ reason }) => reason.message.includes('clock'))
  await cluster.settled('tick', 1_000, { and: (rows) => (rows.at(-1)?.['fire_time'] as number) > before + 6_000 })
  // First starts: what ran at the very moment of the jump is recovered.
  const starts = nodes.flatMap((node) => node.events('execution.started').filter(({ attempt }) => attempt === 1).map(({ fireTime }) => fireTime))
  expect(new Set(starts).size).toBe(starts.length)
  for (const node of nodes) {
    const lost = node.events('node.lost')
    expect(node.events('node.registered')).toHaveLength(lost.length + 1)
    // A machine that stands still may cost a life of its own; a prediction that stays wrong costs one with every heartbeat.
    expect(lost.length).toBeLessThanOrEqual(2)
  }
}

runTogether([
  { title: 'P9: the database\'s clock stepping back a little loses no fire time and starts none too early', on: ['SQLite'], run: stepBack },
  { title: 'P9: the database\'s clock jumping further than the margin ends all leases, and the schedule goes on by the new clock', on: ['SQLite'], run: jump },
])
