import type { LockCapabilities } from '@sched/core/spi'

export interface LockFacts {
  /** The server knows `idle_session_timeout`: version 14 and later. */
  readonly idleSessionTimeout: boolean
  /** max_locks_per_transaction × (max_connections + max_prepared_transactions). */
  readonly lockSlots: number
}

/**
 * Advisory locks lie in a table in shared memory that every session needs for every statement: when it is full, all fail with 53200.
 * So a node gets a sixteenth. https://www.postgresql.org/docs/current/runtime-config-locks.html#GUC-MAX-LOCKS-PER-TRANSACTION
 */
export function capabilitiesWith({ idleSessionTimeout, lockSlots }: LockFacts): LockCapabilities {
  return {
    kind: 'session',
    boundedStaleness: idleSessionTimeout,
    serverSideWait: true,
    fencing: 'none',
    inspection: true,
    scope: 'database', // the same key in another database of the server is another lock
    maxLocks: Math.min(1_000, Math.max(16, Math.floor(lockSlots / 16))),
    clockUncertaintyMs: 0,
  }
}
