import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import type { LocalOptions } from './local-node.ts'
import { measured, runTogether } from './scenarios.ts'

const heartbeatMs = 1_000
const idleMs = 8_000
const nodeCount = 3

/** Committed and rolled-back transactions of the database so far, as the server counts them, and the sessions of ours. */
async function countedBy(client: pg.Client): Promise<{ transactions: number; sessions: number }> {
  const { rows: [row] } = await client.query<{ transactions: string; sessions: string }>(`SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()) AS transactions,
    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'sched:test:%') AS sessions`)
  return { transactions: Number(row?.transactions), sessions: Number(row?.sessions) }
}

async function idle(cluster: Cluster, options: LocalOptions): Promise<void> {
  // A client of its own, elsewhere: looking on must not count.
  const elsewhere = new URL(cluster.store.address)
  const database = elsewhere.pathname.slice(1)
  elsewhere.pathname = '/postgres'
  const client = new pg.Client({ connectionString: elsewhere.href })
  await client.connect()
  const count = async (): Promise<{ transactions: number; sessions: number }> => {
    const { rows: [row] } = await client.query<{ transactions: string; sessions: string }>(`SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1) AS transactions,
      (SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'sched:test:%') AS sessions`, [database])
    return { transactions: Number(row?.transactions), sessions: Number(row?.sessions) }
  }
  try {
    const nodes = Array.from({ length: nodeCount }, () => {
      const node = cluster.node({ ...options, leaseMs: 10_000, heartbeatMs })
      for (let index = 0; index < 50; index += 1) node.scheduler.task(`task-${index}`, { cron: '0 0 3 1 1 *' }, () => {})
      return node
    })
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    // Start-up is over, and its numbers have reached the server's statistics: a session that falls idle reports up to 10 s later.
    await sleep(12_500)
    const beats = (): number => nodes.reduce((sum, node) => sum + node.events('heartbeat').length, 0)
    // A second transaction per heartbeat, or one per task, breaks this in every window; a session's delayed start-up numbers break it in one.
    const slack = nodeCount * idleMs / heartbeatMs * 0.75
    const look = async (): Promise<{ transactions: number; sessions: number; beats: number; tookMs: number }> => {
      const before = { ...await count(), beats: beats(), at: performance.now() }
      await sleep(idleMs)
      const after = await count()
      return { transactions: after.transactions - before.transactions, sessions: after.sessions, beats: beats() - before.beats, tookMs: performance.now() - before.at }
    }
    let seen = await look()
    for (let window = 1; window < 4 && seen.transactions > seen.beats + slack; window += 1) seen = await look()
    measured(`PostgreSQL, veto ${options.lockVeto ?? 'auto'}: idle transactions per node and minute at a heartbeat of ${heartbeatMs} ms`, seen.transactions / nodeCount / seen.tookMs * 60_000, '')
    measured(`PostgreSQL, veto ${options.lockVeto ?? 'auto'}: connections per node`, seen.sessions / nodeCount, '')
    expect(seen.transactions).toBeLessThanOrEqual(seen.beats + slack)
    expect(seen.beats).toBeGreaterThan(nodeCount * idleMs / heartbeatMs / 2)
    // One connection for heartbeat and try-locks, one for the store.
    expect(seen.sessions).toBeLessThanOrEqual(2 * nodeCount)
  } finally {
    await client.end()
  }
}

async function busyConnections(cluster: Cluster): Promise<void> {
  const node = cluster.node({ lockVeto: 'auto' })
  const client = new pg.Client({ connectionString: cluster.store.address })
  await client.connect()
  let sessions = 0
  let open = 0
  const count = 6
  for (let index = 0; index < count; index += 1) {
    node.scheduler.task(`task-${index}`, { everyMs: 1_000 }, (ctx) => (index === 0 ? ctx.transaction(async () => { open += 1; await sleep(700); sessions = Math.max(sessions, (await countedBy(client)).sessions); open -= 1 }) : sleep(800)))
  }
  await node.scheduler.start()
  await node.event('execution.succeeded', ({ task }) => task === 'task-0')
  await client.end()
  // Six locks held and one open ctx.transaction: two connections and one.
  expect(open).toBe(0)
  expect(sessions).toBe(3)
}

runTogether([
  { title: 'P12: an idle node costs one transaction per heartbeat and two connections, however many tasks it has', on: ['PostgreSQL'], run: (cluster) => idle(cluster, { lockVeto: 'off' }) },
  { title: 'P12: the same with the locks beside the ledger: they share the heartbeat\'s connection', on: ['PostgreSQL'], run: (cluster) => idle(cluster, { lockVeto: 'auto' }) },
  { title: 'P12: a busy node has one connection more per open ctx.transaction, and none per lock', on: ['PostgreSQL'], run: busyConnections },
])
