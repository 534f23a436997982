import { SchedError } from '@sched/core/spi'
import type { Connector } from './connect/connector.ts'
import type { MysqlPool, MysqlPromiseConnection } from './connect/mysql-client.ts'
import { ownedConnector } from './connect/owned-connector.ts'
import { poolConnector } from './connect/pool-connector.ts'
import { readUrl } from './connect/url.ts'

/** One of these. */
export interface MysqlOptions<TPool extends MysqlPool = MysqlPool> {
  /** `mysql://user:password@host:3306/database`, `mariadb://…`. Every session is then an unpooled connection of its own. */
  readonly url?: string
  /** A pool of yours, of `mysql2` or of `mysql2/promise`. What is borrowed is closed in the end, never given back: our settings are on it. */
  readonly pool?: TPool
  /** What `mysql2.createConnection(config)` takes, for TLS, other authentication and the like. Unpooled, as with a URL. */
  readonly config?: object
}

/** @throws SchedError SCHED_OPTION_INVALID */
export function connectorFor(options: MysqlOptions): Connector {
  const { url, pool, config } = options
  const given = Object.entries({ url, pool, config }).filter(([, value]) => value !== undefined).map(([name]) => name)
  if (given.length > 1) throw invalid(`the options ${given.join(' and ')} exclude each other.`)
  if (pool !== undefined) {
    if (typeof pool.getConnection !== 'function') throw invalid('the option pool is no pool of mysql2: it has no getConnection().')
    return poolConnector(pool)
  }
  if (config !== undefined) {
    if (typeof config !== 'object' || config === null) throw invalid('the option config is no object.')
    return ownedConnector(config)
  }
  if (url === undefined) throw invalid('none of the options url, pool and config is there.')
  return ownedConnector(readUrl(url))
}

function invalid(message: string): SchedError {
  return new SchedError('SCHED_OPTION_INVALID', message, { remedy: 'Expected mysql({ url }), mysql({ pool }) or mysql({ config }).' })
}

/** The connection that a pool lends, so that ctx.transaction hands it over under its own type. */
export type ClientOf<TPool> = TPool extends { getConnection(): Promise<infer TClient> } ? TClient
  : TPool extends { getConnection(callback: (error: Error | null, connection: infer TClient) => unknown): unknown } ? TClient : MysqlPromiseConnection
