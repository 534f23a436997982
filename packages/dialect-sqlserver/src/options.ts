import { SchedError } from '@sched/core/spi'
import type { Connector } from './connect/connector.ts'
import { ownedConnector, type TediousConfig } from './connect/owned-connector.ts'
import { checkPool, poolConnector } from './connect/pool-connector.ts'
import type { MssqlPool } from './connect/tedious-types.ts'
import { configOfUrl } from './connect/url.ts'

/** One of these. */
export interface SqlServerOptions<TPool extends MssqlPool = MssqlPool> {
  /** `sqlserver://user:password@host:1433/database?encrypt=true`. Every session is then an unpooled connection of its own. */
  readonly url?: string
  /** What `new tedious.Connection(config)` takes, for Entra ID, NTLM, certificates and the like. Unpooled, as with a URL. */
  readonly config?: TediousConfig
  /** A connected `mssql.ConnectionPool` of yours, on tedious. What is borrowed is closed in the end: our settings are on it. */
  readonly pool?: TPool
}

/** @throws SchedError SCHED_OPTION_INVALID */
export function connectorFor(options: SqlServerOptions): Connector {
  const given = Object.entries({ url: options.url, pool: options.pool, config: options.config }).filter(([, value]) => value !== undefined).map(([name]) => name)
  if (given.length > 1) throw invalid(`the options ${given.join(' and ')} exclude each other.`)
  const { url, pool, config } = options
  if (pool !== undefined) return poolConnector(checkPool(pool))
  if (config !== undefined) return ownedConnector(checkConfig(config))
  if (url === undefined) throw invalid('no database was named.')
  return ownedConnector(configOfUrl(url))
}

function checkConfig(config: TediousConfig): TediousConfig {
  if (typeof config !== 'object' || config === null) throw invalid('the option config is no object.')
  if (typeof config.server !== 'string') throw invalid('the option config names no server (it is tedious\' own: { server, authentication, options }).')
  return config
}

function invalid(message: string): SchedError {
  return new SchedError('SCHED_OPTION_INVALID', message, { remedy: 'Expected sqlserver({ url }), sqlserver({ config }) or sqlserver({ pool }).' })
}
