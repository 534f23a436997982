import type { Dialect, DialectModule } from '@sched/core/spi'
import type { Connector } from './connect/connector.ts'
import type { OracleConnection, OraclePool } from './connect/oracle-client.ts'
import { configOfUrl, schemes } from './connect/url.ts'
import { dbmsLockSource } from './locks/dbms-lock-source.ts'
import { connectorFor, type ClientOf, type OracleOptions } from './options.ts'
import { oracleStore } from './store/store.ts'

/**
 * Oracle Database through `oracledb`: the ledger, and locks of DBMS_LOCK on pinned sessions. Connects to nothing yet.
 * Not yet verified against a live server: README.md says what was tried on what.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function oracle<TPool extends OraclePool>(options: { readonly pool: TPool }): Dialect<ClientOf<TPool>>
export function oracle<TClient extends OracleConnection = OracleConnection>(options: Omit<OracleOptions, 'pool'>): Dialect<TClient>
export function oracle(options: OracleOptions): Dialect {
  return dialectOn(connectorFor(options))
}

/** The dialect on sessions from wherever they come. */
export function dialectOn<TClient extends OracleConnection>(connector: Connector<TClient>): Dialect<TClient> {
  return {
    spiVersion: 1,
    name: 'oracle',
    locks: dbmsLockSource(connector),
    store: oracleStore(connector),
    async close() { connector.close() },
  }
}

/** How a URL finds this package. */
export const sched: DialectModule = {
  spiVersion: 1,
  schemes,
  create(url) {
    configOfUrl(url)
    return oracle({ url })
  },
}
