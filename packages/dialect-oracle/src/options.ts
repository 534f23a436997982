import { SchedError } from '@sched/core/spi'
import type { Connector } from './connect/connector.ts'
import type { OracleConnection, OraclePool } from './connect/oracle-client.ts'
import { ownedConnector } from './connect/owned-connector.ts'
import { poolConnector } from './connect/pool-connector.ts'
import { configOfUrl } from './connect/url.ts'

/** One of these. */
export interface OracleOptions<TPool extends OraclePool = OraclePool> {
  /** `oracle://user:password@host:1521/service`. Every session is then a standalone connection of its own. */
  readonly url?: string
  /** A pool of `oracledb.createPool`. What is borrowed is dropped in the end, never given back. */
  readonly pool?: TPool
  /** What `oracledb.getConnection` takes (user, password, connectString, …), for wallets, tokens and the like. Standalone, as with a URL. */
  readonly config?: object
}

/** @throws SchedError SCHED_OPTION_INVALID */
export function connectorFor(options: OracleOptions): Connector {
  const { url, pool, config } = options
  const given = Object.entries({ url, pool, config }).filter(([, value]) => value !== undefined).map(([name]) => name)
  if (given.length !== 1) throw invalid(given.length === 0 ? 'none of the options url, pool and config is given.' : `the options ${given.join(' and ')} exclude each other.`)
  if (pool !== undefined) {
    if (typeof pool.getConnection !== 'function') throw invalid('the option pool is no pool of oracledb: it has no getConnection().')
    return poolConnector<OracleConnection>(pool)
  }
  if (config !== undefined && (typeof config !== 'object' || config === null)) throw invalid('the option config is no object.')
  return ownedConnector(config ?? configOfUrl(url))
}

function invalid(message: string): SchedError {
  return new SchedError('SCHED_OPTION_INVALID', message, { remedy: 'Expected oracle({ url }), oracle({ pool }) or oracle({ config }).' })
}

/**
 * The connection that a pool lends, so that ctx.transaction hands it over under its own type. Of a method with several signatures the
 * compiler infers from the last; the driver's has a promise first and callbacks behind it.
 */
export type ClientOf<TPool> = TPool extends {
  getConnection(options?: never): Promise<infer TClient>
  getConnection(callback: never): unknown
  getConnection(options: never, callback: never): unknown
} ? TClient
  : TPool extends { getConnection(): Promise<infer TClient> } ? TClient : OracleConnection
