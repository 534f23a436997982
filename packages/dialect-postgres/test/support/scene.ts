import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { onTestFinished, vi } from 'vitest'
import { lockName, type Dialect, type LockHolding, type LockName, type LockRequest, type OpenOptions, type SessionOptions, type SessionPurpose, type SqlSession } from '@sched/core/spi'
import { openAdvisoryConnection, type AdvisoryConnection } from '../../src/locks/advisory-connection.ts'
import { connectorFor, type PostgresOptions } from '../../src/options.ts'

export { emptyDatabase, eventually } from '@sched-dev/databases'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 40_000, hookTimeout: 40_000 })

export const never: AbortSignal = new AbortController().signal

export const name = (text: string): LockName => lockName('test', 'user', text)

export function request(text: string): LockRequest {
  return { name: name(text), owner: randomUUID(), ownerLabel: 'test', leaseMs: 10_000 }
}

export function holding(text: string): LockHolding {
  return { name: name(text), owner: randomUUID(), fencingToken: undefined }
}

export function openOptions(overrides: Partial<OpenOptions> = {}): OpenOptions {
  return { signal: never, leaseMs: 10_000, label: `sched:test:${randomUUID().slice(0, 8)}`, ...overrides }
}

/** A lock connection that is destroyed when the test ends. */
export async function openLocks(options: PostgresOptions, overrides: Partial<OpenOptions> & { purpose?: 'pulse' | 'wait' } = {}): Promise<AdvisoryConnection> {
  const { purpose = 'pulse', ...rest } = overrides
  const connection = await openAdvisoryConnection(connectorFor(options), purpose, openOptions(rest))
  onTestFinished(() => { connection.destroy() })
  return connection
}

export function sessionOptions(overrides: Partial<SessionOptions> = {}): SessionOptions {
  return { ...openOptions(), statementMs: 2_000, rowLockMs: 200, sharedSessions: false, ...overrides }
}

/** A session of the store that is destroyed when the test ends. */
export async function openStore<TClient>(dialect: Dialect<TClient>, purpose: SessionPurpose, overrides: Partial<SessionOptions> = {}): Promise<SqlSession<TClient>> {
  const session = await dialect.store!.open(purpose, sessionOptions(overrides))
  onTestFinished(() => { session.destroy() })
  return session
}

/** A client of the test's own, to look at the server and to interfere. */
export async function onlooker(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {}) // reported by the next query
  await client.connect()
  onTestFinished(async () => { await client.end() })
  return client
}

export function advisoryLocks(client: pg.Client): Promise<number> {
  return client.query<{ n: number }>("select count(*)::int n from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())")
    .then(({ rows }) => rows[0]!.n)
}
