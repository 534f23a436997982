import type { Dialect, DialectModule } from '@sched/core/spi'
import type { TediousConfig } from './connect/owned-connector.ts'
import type { LentPool, MssqlPool, TediousConnection } from './connect/tedious-types.ts'
import { configOfUrl, schemes } from './connect/url.ts'
import { applockSource } from './locks/applock-source.ts'
import { connectorFor, type SqlServerOptions } from './options.ts'
import { sqlServerStore } from './store/store.ts'

/**
 * SQL Server and Azure SQL through `tedious`: the ledger, and application locks on pinned sessions. Connects to nothing yet.
 * `ctx.transaction` hands over the connection of tedious (`sqlserver<tedious.Connection>({ url })` names its type), or with a pool of
 * mssql `{ request(), connection }`, whose requests run on that connection.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function sqlserver<TPool extends MssqlPool>(options: { readonly pool: TPool }): Dialect<LentPool<TPool>>
export function sqlserver<TConnection extends TediousConnection = TediousConnection>(options: { readonly url: string } | { readonly config: TediousConfig }): Dialect<TConnection>
export function sqlserver(options: SqlServerOptions): Dialect {
  const connector = connectorFor(options)
  return {
    spiVersion: 1,
    name: 'sqlserver',
    locks: applockSource(connector),
    store: sqlServerStore(connector),
    async close() { connector.close() },
  }
}

/** How a URL finds this package. */
export const sched: DialectModule = {
  spiVersion: 1,
  schemes,
  create(url) {
    configOfUrl(url)
    return sqlserver({ url })
  },
}
