import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import type { LocalOptions } from './local-node.ts'
import { far, measured, runTogether } from './scenarios.ts'

const heartbeatMs = 1_000
const idleMs = 8_000
const nodeCount = 3

interface Counts { readonly transactions: number; readonly sessions: number }

/** Committed and rolled-back transactions of a database so far, as the server counts them, and the sessions of ours. */
async function countedBy(client: pg.Client, database: string): Promise<Counts> {
  const { rows: [row] } = await client.query<{ transactions: string; sessions: string }>(`SELECT (SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1) AS transactions,
    (SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'sched:test:%') AS sessions`, [database])
  return { transactions: Number(row?.transactions), sessions: Number(row?.sessions) }
}

/** A client in another database of the server (looking on must not count), and what it sees of this one. */
async function onlooker({ store: { address } }: Cluster): Promise<{ readonly count: () => Promise<Counts>; readonly end: () => Promise<void> }> {
  const elsewhere = new URL(address)
  const database = elsewhere.pathname.slice(1)
  elsewhere.pathname = '/postgres'
  const client = new pg.Client({ connectionString: elsewhere.href })
  await client.connect()
  return { count: () => countedBy(client, database), end: () => client.end() }
}

async function idle(cluster: Cluster, options: LocalOptions): Promise<void> {
  const { count, end } = await onlooker(cluster)
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
    // One transaction per heartbeat and nothing else. The server's statistics are up to a second late, at either end: so many beats of slack.
    const slack = nodeCount * Math.ceil(2_000 / heartbeatMs)
    const look = async (): Promise<Counts & { readonly beats: number; readonly tookMs: number }> => {
      const before = { ...await count(), beats: beats(), at: performance.now() }
      await sleep(idleMs)
      const after = await count()
      return { transactions: after.transactions - before.transactions, sessions: after.sessions, beats: beats() - before.beats, tookMs: performance.now() - before.at }
    }
    // What costs too much does so in every window; a session's start-up numbers that arrive late do in one.
    let seen = await look()
    for (let window = 1; window < 8 && seen.transactions > seen.beats + slack; window += 1) seen = await look()
    measured(`PostgreSQL, veto ${options.lockVeto ?? 'auto'}: idle transactions per node and minute at a heartbeat of ${heartbeatMs} ms`, seen.transactions / nodeCount / seen.tookMs * 60_000, '')
    measured(`PostgreSQL, veto ${options.lockVeto ?? 'auto'}: connections per node`, seen.sessions / nodeCount, '')
    expect(seen.transactions).toBeLessThanOrEqual(seen.beats + slack)
    expect(seen.beats).toBeGreaterThan(nodeCount * idleMs / heartbeatMs / 2)
    // One connection for heartbeat and try-locks, one for the store.
    expect(seen.sessions).toBeLessThanOrEqual(2 * nodeCount)
  } finally {
    await end()
  }
}

async function busyConnections(cluster: Cluster): Promise<void> {
  const node = cluster.node({ lockVeto: 'auto', leaseMs: 20_000 })
  const { count: look, end } = await onlooker(cluster)
  let sessions = 0
  let open = 0
  const names = Array.from({ length: 6 }, (_, index) => `task-${index}`)
  const looked = Promise.withResolvers<void>()
  for (const name of names) {
    node.scheduler.task(name, { everyMs: far }, async (ctx) => {
      open += 1
      if (name !== names[0]) return looked.promise
      await ctx.transaction(async () => {
        while (open < names.length) await sleep(20)
        sessions = (await look()).sessions
      }).finally(looked.resolve)
    })
  }
  await node.scheduler.start()
  for (const name of names) await cluster.makeDue(name)
  for (const name of names) await node.event('execution.succeeded', ({ task }) => task === name)
  await end()
  // Six locks held and one open ctx.transaction: two connections and one.
  expect(open).toBe(names.length)
  expect(sessions).toBe(3)
}

runTogether([
  { title: 'P12: an idle node costs one transaction per heartbeat and two connections, however many tasks it has', on: ['PostgreSQL'], run: (cluster) => idle(cluster, { lockVeto: 'off' }) },
  { title: 'P12: the same with the locks beside the ledger: they share the heartbeat\'s connection', on: ['PostgreSQL'], run: (cluster) => idle(cluster, { lockVeto: 'auto' }) },
  { title: 'P12: a busy node has one connection more per open ctx.transaction, and none per lock', on: ['PostgreSQL'], run: busyConnections },
])
