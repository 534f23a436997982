import type { Finding } from '@sched/core/spi'

/** What speaks TDS, by what it says of itself. */
export interface Engine {
  readonly product: string
  readonly version: string
  /** `sql-server`: on premises, its version numbers mean what they say. `azure`: always the newest. `peer`: something that only speaks the protocol. */
  readonly kind: 'sql-server' | 'azure' | 'peer'
  /** Undefined: it can be used. */
  readonly refusal?: Finding
}

export interface Identity { readonly banner: string; readonly productVersion: string; readonly engineEdition: number | null }

/** EngineEdition: https://learn.microsoft.com/sql/t-sql/functions/serverproperty-transact-sql */
const azure: ReadonlyMap<number, string> = new Map([[5, 'Azure SQL Database'], [8, 'Azure SQL Managed Instance'], [12, 'SQL database in Microsoft Fabric']])
const analytical: ReadonlyMap<number, string> = new Map([[6, 'Azure Synapse (dedicated pool)'], [11, 'Azure Synapse (serverless pool)']])

/** SQL Server 2016, the oldest with DATEDIFF_BIG. */
const oldestVersion = 13

export function engineOf({ banner, productVersion, engineEdition }: Identity): Engine {
  const babelfish = /Babelfish\D*(\d[\w.]*)\)/.exec(banner)
  if (/Babelfish/i.test(banner)) return { product: 'Babelfish', version: babelfish?.[1] ?? productVersion, kind: 'peer' }
  const version = productVersion === '' ? '(version unknown)' : productVersion
  const cloud = azure.get(engineEdition ?? 0)
  if (cloud !== undefined) return { product: cloud, version, kind: 'azure' }
  const warehouse = analytical.get(engineEdition ?? 0)
  if (warehouse !== undefined) {
    return { product: warehouse, version, kind: 'azure', refusal: refused(`this is ${warehouse}: it has neither application locks nor enforced keys.`, 'Use Azure SQL Database, or SQL Server.') }
  }
  if (/^Microsoft SQL Server\b|^Microsoft Azure SQL\b/.test(banner)) return genuine(version)
  // Never a silent guess: it is named as what it is, and its locks are tried before they are trusted.
  return { product: banner.slice(0, 60).replaceAll(/\s+/g, ' ').trim() || 'unknown', version, kind: 'peer' }
}

function genuine(version: string): Engine {
  const engine: Engine = { product: 'SQL Server', version, kind: 'sql-server' }
  const major = Number(/^\d+/.exec(version)?.[0] ?? 0)
  if (major >= oldestVersion) return engine
  return { ...engine, refusal: { level: 'refuse', code: 'SCHED_UNSUPPORTED_VERSION', message: `this is SQL Server ${version}.`, remedy: 'Use SQL Server 2016 (13) or later.' } }
}

function refused(message: string, remedy: string): Finding { return { level: 'refuse', code: 'SCHED_UNSAFE_ENGINE', message, remedy } }
