import type { Dialect, DialectModule } from '@sched/core/spi'
import type { MysqlPool, MysqlPromiseConnection } from './connect/mysql-client.ts'
import { readUrl, schemes } from './connect/url.ts'
import { getLockSource } from './locks/get-lock-source.ts'
import { connectorFor, type ClientOf, type MysqlOptions } from './options.ts'
import { mysqlStore } from './store/store.ts'

/**
 * MySQL and MariaDB through `mysql2`: the ledger, and GET_LOCK on pinned sessions. Connects to nothing yet.
 * `ctx.transaction` hands over the pool's own connection, or with a URL one of `mysql2/promise`: `mysql<Connection>({ url })` names its type.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function mysql<TPool extends MysqlPool>(options: { readonly pool: TPool }): Dialect<ClientOf<TPool>>
export function mysql<TClient = MysqlPromiseConnection>(options: Omit<MysqlOptions, 'pool'>): Dialect<TClient>
export function mysql(options: MysqlOptions): Dialect {
  const connector = connectorFor(options)
  return {
    spiVersion: 1,
    name: 'mysql',
    locks: getLockSource(connector),
    store: mysqlStore(connector),
    async close() { connector.close() },
  }
}

/** How a URL finds this package. */
export const sched: DialectModule = {
  spiVersion: 1,
  schemes,
  create(url) {
    readUrl(url)
    return mysql({ url })
  },
}
