import { randomUUID } from 'node:crypto'
import mysql2, { type Connection, type RowDataPacket } from 'mysql2/promise'
import { onTestFinished, vi } from 'vitest'
import { lockName, type Dialect, type LockHolding, type LockName, type LockRequest, type OpenOptions, type SessionOptions, type SessionPurpose, type SqlSession } from '@sched/core/spi'
import { readUrl } from '../../src/connect/url.ts'
import { openGetLockConnection, type GetLockConnection } from '../../src/locks/get-lock-connection.ts'
import { connectorFor, type MysqlOptions } from '../../src/options.ts'

export { emptyDatabase, eventually } from '@sched-dev/databases'

// Creating accounts, databases and tables takes seconds on durable servers and a busy machine.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 })

/** Where native locks may be used. */
export const singleServers = ['mysql', 'mariadb', 'mariadb-oldest'] as const
export const everyServer = ['mysql', 'mariadb', 'mariadb-oldest', 'galera-1'] as const

export const never: AbortSignal = new AbortController().signal

let names = 0
/** A prefix of this file's own: GET_LOCK is the server's, not the database's. */
const own = randomUUID().slice(0, 8)

export const name = (text: string): LockName => lockName(own, 'user', text)

export function freshName(): LockName { return name(`n${++names}`) }

export function request(text: string | LockName): LockRequest {
  return { name: typeof text === 'string' ? name(text) : text, owner: randomUUID(), ownerLabel: 'test', leaseMs: 10_000 }
}

export function holding(text: string | LockName): LockHolding {
  return { name: typeof text === 'string' ? name(text) : text, owner: randomUUID(), fencingToken: undefined }
}

export function openOptions(overrides: Partial<OpenOptions> = {}): OpenOptions {
  return { signal: never, leaseMs: 10_000, label: `sched:test:${randomUUID().slice(0, 8)}`, ...overrides }
}

/** A lock connection that is destroyed when the test ends. */
export async function openLocks(options: MysqlOptions, overrides: Partial<OpenOptions> & { purpose?: 'pulse' | 'wait' } = {}): Promise<GetLockConnection> {
  const { purpose = 'pulse', ...rest } = overrides
  const connection = await openGetLockConnection(connectorFor(options), purpose, openOptions(rest))
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

export interface Onlooker {
  readonly connection: Connection
  query(sql: string, values?: unknown[]): Promise<RowDataPacket[]>
}

/** A client of the test's own, to look at the server and to interfere. */
export async function onlooker(url: string): Promise<Onlooker> {
  const connection = await mysql2.createConnection({ ...readUrl(url), supportBigNumbers: true })
  connection.on('error', () => {}) // reported by the next query
  onTestFinished(() => { connection.destroy() })
  return { connection, query: async (sql, values) => (await connection.query<RowDataPacket[]>(sql, values))[0] }
}

/** What a promise rejects with. */
export async function errorOf(work: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  try {
    await work
  } catch (error) {
    return error as Error & Record<string, unknown>
  }
  throw new Error('nothing was thrown')
}
