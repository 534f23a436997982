import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, vi } from 'vitest'
import { lockName } from '../../src/spi/lock-name.ts'
import type { Cluster } from './cluster.ts'
import { runTogether } from './scenarios.ts'

// A member that has freed the gate and not yet its lock is waited for up to a heartbeat.
const options = { lockVeto: 'auto', leaseMs: 10_000, heartbeatMs: 2_000 } as const

/** An outsider of the ledger, who holds the lock named after a task on a connection of its own. */
async function holdForeign(cluster: Cluster, task: string): Promise<{ release(): void }> {
  const dialect = cluster.store.connect()
  const source = dialect.locks
  const connection = await source.open('pulse', { signal: new AbortController().signal, leaseMs: 60_000, label: 'sched:outsider' })
  const outcome = await source.strategy.tryLock(connection, { name: lockName('test', 'task', task), owner: 'outsider', ownerLabel: 'outsider', leaseMs: 60_000 })
  expect(outcome.status).toBe('granted')
  return { release: () => { connection.destroy() } }
}

async function foreign(cluster: Cluster): Promise<void> {
  const outsider = await holdForeign(cluster, 'job')
  try {
    const node = cluster.node(options)
    node.scheduler.task('job', { everyMs: 1_000 }, () => {}).task('other', { everyMs: 1_000 }, () => {})
    await node.scheduler.start()
    const { task, holder } = await node.event('lock.foreign')
    expect(task).toBe('job')
    // Who has it, as far as the database tells.
    expect(holder?.sessionId).toEqual(expect.any(Number))
    const skipped = await node.event('slot.skipped', (event) => event.task === 'job')
    expect((await cluster.executions('job')).find(({ fire_time }) => fire_time === skipped.fireTime)).toMatchObject({ state: 'skipped', error_code: 'overlap' })
    await node.event('execution.succeeded', (event) => event.task === 'other')
    expect(node.events('execution.started').filter((event) => event.task === 'job')).toEqual([])
    outsider.release()
    await node.event('execution.succeeded', (event) => event.task === 'job')
  } finally {
    outsider.release()
  }
}

async function vetoLost(cluster: Cluster): Promise<void> {
  const node = cluster.node(options)
  let calls = 0
  let reason: unknown
  node.scheduler.task('job', { everyMs: 1_000 }, async ({ signal }) => {
    calls += 1
    if (calls > 1) return
    await sleep(60_000, undefined, { signal }).catch(() => { reason = signal.reason })
    signal.throwIfAborted()
  })
  await node.scheduler.start()
  const started = await node.event('execution.started')
  const { rows } = await withClient(cluster, (client) => client.query<{ pid: number }>(`SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database()`))
  expect(rows).toHaveLength(1)
  await cluster.query('SELECT pg_terminate_backend(CAST(? AS integer)) AS done', [rows[0]?.pid as number])
  // The lock is gone: the run is told, and tried again under a new lock.
  const retry = await node.event('execution.retry', ({ executionId }) => executionId === started.executionId)
  expect(retry).toMatchObject({ reason: 'lock-lost', attempt: 1 })
  expect(reason).toMatchObject({ code: expect.stringMatching(/^SCHED_/) as string })
  await node.event('execution.succeeded', ({ executionId }) => executionId === started.executionId)
  expect(node.events('execution.fenced')).toEqual([])
}

async function sameLock(cluster: Cluster): Promise<void> {
  // Each run takes the lock and gives it back: another instance, or the next run here, never mistakes that for an outsider.
  const nodes = [1, 2, 3].map(() => {
    const node = cluster.node(options)
    node.scheduler.task('job', { everyMs: 2_000, retry: { max: 3, backoffMs: 0 } }, ({ attempt }) => { if (attempt < 3) throw new Error('again') })
    return node
  })
  await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
  const rows = await cluster.until('four runs', (found) => found.filter(({ state }) => state === 'succeeded').length >= 4, 60_000)
  expect(nodes.flatMap((node) => node.events('lock.foreign'))).toEqual([])
  // On a loaded machine the run before may have stood in the way, an outsider never.
  for (const { state, error_text } of rows) if (state === 'skipped') expect(error_text).not.toContain('outside the ledger')
  await Promise.all(nodes.map(({ scheduler }) => scheduler.stop()))
  // The server notices a moment after a client has gone.
  await withClient(cluster, (client) => vi.waitFor(async () => {
    const { rows: left } = await client.query(`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
    expect(left).toEqual([])
  }, 10_000))
}

async function allowTakesNone(cluster: Cluster): Promise<void> {
  const outsider = await holdForeign(cluster, 'job')
  try {
    const node = cluster.node(options)
    node.scheduler.task('job', { everyMs: 1_000, overlap: 'allow' }, () => {})
    await node.scheduler.start()
    await node.event('execution.succeeded')
    expect(node.events('lock.foreign')).toEqual([])
  } finally {
    outsider.release()
  }
}

async function withClient<T>(cluster: Cluster, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: cluster.store.address })
  client.on('error', () => {}) // reported by the query
  await client.connect()
  try { return await use(client) } finally { await client.end() }
}

runTogether([
  { title: 'P2: a task whose lock an outsider holds does not start: the slot is skipped, lock.foreign says who, other tasks go on', on: ['PostgreSQL'], run: foreign },
  { title: 'P3: a veto lost with its session aborts the run, which is tried again and never called fenced', on: ['PostgreSQL'], run: vetoLost },
  { title: 'P3: locks travel with their session and are given back there: no run mistakes another for an outsider, no lock is left', on: ['PostgreSQL'], run: sameLock },
  { title: 'P2: a task with overlap allow takes no veto', on: ['PostgreSQL'], run: allowTakesNone },
])
