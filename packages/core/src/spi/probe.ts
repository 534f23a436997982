import type { ErrorCode } from '../errors.ts'
import type { LockCapabilities } from './capabilities.ts'

/**
 * One thing the probe found out. `refuse`: unsafe, start-up fails with this code (P11). `warn`: safe, but a person should know.
 */
export interface Finding {
  readonly level: 'refuse' | 'warn'
  readonly code: ErrorCode
  /** What was found, as a sentence with the facts in it. */
  readonly message: string
  /** The way out, as a sentence. */
  readonly remedy: string
}

export interface Probe {
  /** As people call it: `PostgreSQL`, `MariaDB`, `SQLite`. */
  readonly product: string
  readonly version: string
  /** What names are shared by, e.g. `app/public` for database and schema. The default namespace is derived from it. */
  readonly scope: string
  /** True when statements of one client may run on different server sessions (a transaction pooler in between). */
  readonly sharedSessions: boolean
  readonly findings: readonly Finding[]
  /** How far the clocks of the servers behind the URL may disagree, where the probe can tell. Default 0. */
  readonly clockUncertaintyMs?: number
  /** The most connections that the caller's pool lends, to the application and to us together. Undefined: no pool, or one without a limit. */
  readonly poolLimit?: number | undefined
}

export interface LockProbe extends Probe {
  /** The capabilities with this server, this version, this account. */
  readonly capabilities: LockCapabilities
}
