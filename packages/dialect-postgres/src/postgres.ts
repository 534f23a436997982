import type { Dialect, DialectModule } from '@sched/core/spi'
import type { Connector } from './connect/connector.ts'
import { advisorySource } from './locks/advisory-source.ts'
import { connectorFor, type ClientOf, type PostgresOptions } from './options.ts'
import type { PgClient, PgPool } from './connect/pg-client.ts'
import { postgresStore } from './store/store.ts'
import { checkUrl, schemes } from './connect/url.ts'

/**
 * PostgreSQL through `pg`: the ledger, and advisory locks on pinned sessions. Connects to nothing yet.
 * `ctx.transaction` hands over the pool's own client, or with a URL one of `pg.Client`: `postgres<pg.Client>({ url })` names its type.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function postgres<TPool extends PgPool>(options: { readonly pool: TPool }): Dialect<ClientOf<TPool>>
export function postgres<TClient extends PgClient = PgClient>(options?: Omit<PostgresOptions, 'pool'>): Dialect<TClient>
export function postgres(options: PostgresOptions = {}): Dialect {
  const connector: Connector = connectorFor(options)
  return {
    spiVersion: 1,
    name: 'postgres',
    locks: advisorySource(connector),
    store: postgresStore(connector),
    async close() { connector.close() },
  }
}

/** How a URL finds this package. */
export const sched: DialectModule = {
  spiVersion: 1,
  schemes,
  create: (url) => postgres({ url: checkUrl(url) }),
}
