import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest'
import { describeServer, freshDatabase, type FreshDatabase } from '@sched-dev/databases'
import { createLocks } from '../../src/locks/create-locks.ts'
import type { LockEvent } from '../../src/locks/lock-events.ts'
import type { Locks, LocksOptions } from '../../src/locks/locks.ts'

export { eventually } from '@sched-dev/databases'

/** A database that locks are tried on. */
export interface Place {
  readonly kind: 'sqlite' | 'postgres' | 'locktable+postgres'
  readonly url: string
  /** Where grants carry a token without being asked to. */
  readonly tokens: boolean
  /** What of ours is left on the server: sessions, locks held. Sessions of SQLite cannot be counted. */
  residue(): Promise<{ sessions: number; locks: number }>
  /** A statement of the test's own. */
  query(text: string, params?: unknown[]): Promise<Record<string, unknown>[]>
}

export interface TestLocks extends Locks { readonly events: LockEvent[] }

/** Locks that are closed when the test ends. */
export function locksOn(place: Pick<Place, 'url'>, options: Partial<LocksOptions> = {}): TestLocks {
  const events: LockEvent[] = []
  const locks = createLocks({ ...(options.dialect === undefined ? { url: place.url } : {}), onEvent: (event) => events.push(event), ...options })
  onTestFinished(async () => { await locks.close() })
  return Object.assign(locks, { events })
}

/** The suite on SQLite, on PostgreSQL, and on a lock table in PostgreSQL. */
export function describePlaces(define: (place: Place) => void): void {
  describeTables(define)
  describePostgres(define)
}

/** The suite on lock tables, in SQLite and in PostgreSQL. */
export function describeTables(define: (place: Place) => void): void {
  describe('on sqlite', () => { define(sqlitePlace()) })
  describePostgres(define, true)
}

export function describePostgres(define: (place: Place) => void, table = false): void {
  describeServer('postgres', (server) => { describe(table ? 'with a lock table' : 'with advisory locks', () => { define(postgresPlace(server.url, table)) }) })
}

function sqlitePlace(): Place {
  let folder = ''
  const file = (): string => join(folder, 'sched.db')
  beforeAll(() => { folder = mkdtempSync(join(tmpdir(), 'sched-locks-')) })
  afterAll(() => { rmSync(folder, { recursive: true, force: true }) })
  const query = async (text: string, params: unknown[] = []): Promise<Record<string, unknown>[]> => {
    const database = new DatabaseSync(file(), { timeout: 5_000 })
    try { return database.prepare(text).all(...params as string[]) } finally { database.close() }
  }
  return {
    kind: 'sqlite', tokens: true, query,
    get url() { return `sqlite:${file()}` },
    residue: async () => ({ sessions: 0, locks: Number((await query("SELECT count(*) AS n FROM sched_locks WHERE lock_owner IS NOT NULL AND expires_at > unixepoch('subsec') * 1000"))[0]?.['n']) }),
  }
}

function postgresPlace(serverUrl: string, table: boolean): Place {
  let database: FreshDatabase | undefined
  let client: pg.Client
  beforeAll(async () => {
    database = await freshDatabase(serverUrl)
    client = new pg.Client({ connectionString: database.url })
    client.on('error', () => {}) // the next query reports it
    await client.connect()
  })
  afterAll(async () => {
    await client?.end()
    await database?.drop()
  })
  const query = async (text: string, params: unknown[] = []): Promise<Record<string, unknown>[]> => (await client.query<Record<string, unknown>>(text, params)).rows
  return {
    kind: table ? 'locktable+postgres' : 'postgres', tokens: table, query,
    get url() { return `${table ? 'locktable+' : ''}${database?.url ?? serverUrl}` },
    async residue() {
      const [{ n: sessions } = {}] = await query("select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name like 'sched:%'")
      const [{ n: locks } = {}] = await query(table
        ? 'select count(*)::int as n from sched_locks where lock_owner is not null and expires_at > extract(epoch from clock_timestamp()) * 1000'
        : "select count(*)::int as n from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())")
      return { sessions: Number(sessions), locks: Number(locks) }
    },
  }
}

/**
 * How long the event loop has been held up since, in all: on a busy machine what comes so much later is still at once. Limits of what the
 * process does by itself are told with it; a server may be held up too, and gets more slack.
 */
export function heldUp(): () => number {
  const [everyMs, punctualMs] = [10, 20]
  let [lastAt, sumMs] = [performance.now(), 0]
  const look = (): number => {
    const now = performance.now()
    sumMs += Math.max(0, now - lastAt - punctualMs)
    lastAt = now
    return sumMs
  }
  const timer = setInterval(look, everyMs)
  onTestFinished(() => { clearInterval(timer) })
  return look
}

/** The shortest of up to five measurements, or the first that is short enough: one may have met a busy moment, what is always late is late each time. */
export async function shortest(measure: () => Promise<number>, enoughMs: number): Promise<number> {
  let shortestMs = Infinity
  for (let tries = 0; tries < 5 && shortestMs >= enoughMs; tries += 1) shortestMs = Math.min(shortestMs, await measure())
  return shortestMs
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms) })

/** The code of what it rejects with. */
export const codeOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'nothing', (error: unknown) => (error as { code?: string }).code ?? String(error))
