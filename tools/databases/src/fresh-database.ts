import { randomBytes } from 'node:crypto'
import { dropMysqlDatabase, createMysqlDatabase, mysqlDatabases } from './fresh-mysql-database.ts'
import { createPostgresDatabase, dropPostgresDatabase, postgresDatabases } from './fresh-postgres-database.ts'
import { isMysqlUrl } from './mysql-connection.ts'

const prefix = 'sched_test_'

export interface FreshDatabase extends AsyncDisposable {
  readonly name: string
  readonly url: string
  /** Drops it, ending the sessions that are still in it. Idempotent. */
  drop(): Promise<void>
}

interface Product {
  create(serverUrl: string, name: string): Promise<void>
  drop(serverUrl: string, name: string): Promise<void>
  /** Names with the prefix. */
  list(serverUrl: string, prefix: string): Promise<string[]>
}

const postgres: Product = { create: createPostgresDatabase, drop: dropPostgresDatabase, list: postgresDatabases }
const mysql: Product = { create: createMysqlDatabase, drop: dropMysqlDatabase, list: mysqlDatabases }
const productOf = (url: string): Product => (isMysqlUrl(url) ? mysql : postgres)

/** An empty database of its own on this server (or behind this PgBouncer), so that test files never see each other's tables. */
export async function freshDatabase(serverUrl: string): Promise<FreshDatabase> {
  // The time in the name lets `dropStaleDatabases` see what a killed run has left behind.
  const name = `${prefix}${Date.now()}_${randomBytes(4).toString('hex')}`
  await productOf(serverUrl).create(serverUrl, name)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  const drop = (): Promise<void> => productOf(serverUrl).drop(serverUrl, name)
  return { name, url: url.href, drop, [Symbol.asyncDispose]: drop }
}

/** Drops databases of `freshDatabase` that are older than this; returns how many there were. */
export async function dropStaleDatabases(serverUrl: string, olderThanMs: number): Promise<number> {
  const names = await productOf(serverUrl).list(serverUrl, prefix)
  const stale = names.filter((name) => {
    const createdAt = Number(name.slice(prefix.length).split('_')[0])
    return /^\w+$/.test(name) && Date.now() - createdAt > olderThanMs
  })
  for (const name of stale) await productOf(serverUrl).drop(serverUrl, name)
  return stale.length
}
