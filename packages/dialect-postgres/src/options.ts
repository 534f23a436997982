import { SchedError } from '@sched/core/spi'
import type { Connector } from './connect/connector.ts'
import { ownedConnector } from './connect/owned-connector.ts'
import type { PgClient, PgPool, PgPoolClient } from './connect/pg-client.ts'
import { poolConnector } from './connect/pool-connector.ts'
import { checkUrl } from './connect/url.ts'

/** One of these. */
export interface PostgresOptions<TPool extends PgPool = PgPool> {
  /** `postgres://user:password@host:5432/database`. Every session is then an unpooled connection of its own. */
  readonly url?: string
  /** A `pg.Pool` of yours. What is borrowed is closed in the end, never given back: our settings are on it. */
  readonly pool?: TPool
  /** What `new pg.Client(config)` takes, for passwords by function, TLS and the like. Unpooled, as with a URL. */
  readonly config?: object
}

/** @throws SchedError SCHED_OPTION_INVALID */
export function connectorFor(options: PostgresOptions): Connector {
  const given = Object.entries({ url: options.url, pool: options.pool, config: options.config }).filter(([, value]) => value !== undefined).map(([name]) => name)
  if (given.length > 1) throw invalid(`the options ${given.join(' and ')} exclude each other.`)
  const { url, pool, config } = options
  if (pool !== undefined) {
    if (typeof pool.connect !== 'function') throw invalid('the option pool is no pg.Pool: it has no connect().')
    return poolConnector<PgPoolClient>(pool)
  }
  if (config !== undefined && (typeof config !== 'object' || config === null)) throw invalid('the option config is no object.')
  // Without any, `pg` reads the environment: https://www.postgresql.org/docs/current/libpq-envars.html
  return ownedConnector(url === undefined ? config ?? {} : { connectionString: checkUrl(url) })
}

function invalid(message: string): SchedError {
  return new SchedError('SCHED_OPTION_INVALID', message, { remedy: 'Expected postgres({ url }), postgres({ pool }) or postgres({ config }).' })
}

/** The client that a pool lends, so that ctx.transaction hands it over under its own type. */
export type ClientOf<TPool> = TPool extends { connect(): Promise<infer TClient>; connect(callback: never): unknown } ? TClient
  : TPool extends { connect(): Promise<infer TClient> } ? TClient : PgClient
