import type { GuardedSession } from '../session/guarded-session.ts'
import type { LockCapabilities } from '../spi/capabilities.ts'
import type { LockConnection, LockSource } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import type { Holding } from './holding.ts'
import type { Fence } from './lock-attempt.ts'
import type { LockEventListener } from './lock-events.ts'

export interface LockSessionOptions {
  source: LockSource
  /** As the probe found them. */
  capabilities: LockCapabilities
  /** An open `pulse` or `wait` connection under guard. It may be shared with the node's own heartbeat (`connection.sql`). */
  session: GuardedSession<LockConnection>
  /** Opens another connection after a loss, with a deadline of its own. Used for leases in rows, which outlive a connection. */
  reopen?: () => Promise<GuardedSession<LockConnection>>
  /**
   * `own`: a timer renews what is held. `external`: the owner of the session does, with statements of its own, and says so by
   * `renewed`; leases in rows are renewed by a timer all the same.
   */
  heartbeat: 'own' | 'external'
  leaseMs: number
  /** Default a third of the lease. */
  heartbeatMs?: number
  /** The longest a statement may take before the session is in doubt. Default 5 s, at most half of the lease. */
  statementMs?: number
  /** Ends the session after this long without a lock or a call. Default: never. */
  idleMs?: number
  /** For people: host and pid. */
  ownerLabel: string
  /** The most names this process may use through the source. Default: the capability. */
  maxLocks?: number
  fence?: Fence
  clock: Clock
  random: () => number
  onEvent?: LockEventListener
  /** Called once, when the session takes no more part: lost or closed. */
  onEnd?: () => void
}

/** `process`: refused before any SQL was sent, because this process uses the name already. */
export type TryLockOutcome =
  | { readonly status: 'acquired'; readonly holding: Holding }
  | { readonly status: 'refused'; readonly by: 'process' | 'database' }

/**
 * `open`: takes new locks. `quarantined`: in doubt, takes none, and ends with its last lock. `lost`: ended without our doing, or
 * destroyed on doubt. `closed`: ended by us.
 */
export type LockSessionState = 'open' | 'quarantined' | 'lost' | 'closed'
