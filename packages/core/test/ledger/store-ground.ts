import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeServer, freshDatabase, type ServerName } from '@sched-dev/databases'
import { afterAll, beforeAll, describe, onTestFinished, TestRunner } from 'vitest'
import { migrate, type MigrationContext } from '../../src/ledger/migrate.ts'
import { tableNames } from '../../src/ledger/tables.ts'
import { StoreSession } from '../../src/session/store-session.ts'
import type { Dialect } from '../../src/spi/dialect.ts'
import type { SqlSession } from '../../src/spi/sql-session.ts'
import type { StoreDialect, Tables } from '../../src/spi/store-dialect.ts'
import { systemClock } from '../../src/time/clock.ts'
import { connector, type Product } from './connector.ts'
import { standIns } from './stand-ins.ts'

/** The server whose empty databases stand for a product. */
export const serverOf: Readonly<Record<Exclude<Product, 'SQLite'>, ServerName>> = { PostgreSQL: 'postgres', MySQL: 'mysql', MariaDB: 'mariadb' }

/** An empty database of a test's own. */
export interface OpenStore {
  connect(): Dialect
  end(): Promise<void>
}

/** One that other processes reach too. */
export interface EmptyStore extends OpenStore {
  readonly product: Product
  /** What a child process needs: a file, or a URL. */
  readonly address: string
}

export interface SessionLimits { readonly callMs?: number; readonly statementMs?: number; readonly rowLockMs?: number }

/** Sessions of the kind the executor opens, on one database. Ended with their test, or together. */
export class StoreGround<S extends OpenStore = OpenStore> {
  readonly store: S
  readonly dialect: Dialect
  readonly tables: Tables
  readonly #sessions: StoreSession[] = []

  constructor(store: S) {
    this.store = store
    this.dialect = store.connect()
    this.tables = tableNames(this.storeDialect.sql)
  }

  get storeDialect(): StoreDialect { return this.dialect.store as StoreDialect }

  session(label: string, { callMs = 15_000, statementMs = 12_000, rowLockMs = 150 }: SessionLimits = {}, dialect: Dialect = this.dialect): StoreSession {
    const store = dialect.store as StoreDialect
    const session = new StoreSession<SqlSession>({
      clock: systemClock, random: Math.random, label, callMs, sharedSessions: false, sql: (raw) => raw, classify: (error) => store.classify(error),
      open: (signal) => store.open('store', { signal, leaseMs: 10_000, label: `sched:ledger:${label}`, tables: this.tables, statementMs, rowLockMs, sharedSessions: false }),
    })
    this.#sessions.push(session)
    // Not with the file: hundreds would add up, and the server has connections for those of three files.
    if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => { session.close() })
    return session
  }

  migration(): MigrationContext {
    return { sql: this.storeDialect.sql, tables: this.tables, tableOptions: {}, session: this.session('schema', { callMs: 30_000, statementMs: 30_000, rowLockMs: 10_000 }), clock: systemClock }
  }

  async end(): Promise<void> {
    for (const session of this.#sessions) session.close()
    await this.dialect.close()
    await this.store.end()
  }
}

export async function emptySqlite(): Promise<EmptyStore> {
  const directory = mkdtempSync(join(tmpdir(), 'sched-ledger-'))
  const file = join(directory, 'ledger.db')
  const connect = await connector('SQLite')
  return { product: 'SQLite', address: file, connect: () => connect(file), end: async () => { rmSync(directory, { recursive: true, force: true }) } }
}

/** An empty database on this server. */
export async function emptyStore(product: Exclude<Product, 'SQLite'>, serverUrl: string): Promise<EmptyStore> {
  const connect = await connector(product)
  const database = await freshDatabase(serverUrl)
  return { product, address: database.url, connect: () => connect(database.url), end: () => database.drop() }
}

export function emptyPostgres(serverUrl: string): Promise<EmptyStore> { return emptyStore('PostgreSQL', serverUrl) }

/** A suite on an empty database of each kind. */
export function describeEmptyStores(title: string, define: (open: () => Promise<EmptyStore>) => void): void {
  describe(`${title}, on SQLite`, () => { define(emptySqlite) })
  describe(title, () => {
    for (const [product, name] of Object.entries(serverOf)) describeServer(name, ({ url }) => { define(() => emptyStore(product as keyof typeof serverOf, url)) })
  })
}

/** A suite on each kind of store, its tables made. Tests take a namespace each, so they share one database. */
export function describeStores(title: string, define: (ground: () => StoreGround) => void): void {
  const defineOn = (open: () => Promise<OpenStore>): void => {
    let ground: StoreGround | undefined
    beforeAll(async () => {
      ground = new StoreGround(await open())
      await migrate(ground.migration())
    })
    afterAll(async () => { await ground?.end() })
    define(() => ground as StoreGround)
  }
  describeEmptyStores(title, defineOn)
  for (const [product, open] of Object.entries(standIns)) describe(`${title}, on a stand-in for ${product}`, () => { defineOn(open) })
}
