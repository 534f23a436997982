import type { LockCapabilities } from '@sched/core/spi'

export interface LockFacts {
  /** sys.dm_tran_locks answers, so that a holder can be named. */
  readonly inspection: boolean
  /** SQL Server: one lock per database and name. A peer takes them for the whole server. */
  readonly scope: 'database' | 'instance'
}

/**
 * `boundedStaleness` is false everywhere: SQL Server has no idle limit that would end a frozen holder's session, so its lock lasts as
 * long as its connection. Each lock takes about 100 bytes of lock memory that all sessions share (error 1204 when it is used up).
 * https://learn.microsoft.com/sql/database-engine/configure-windows/configure-the-locks-server-configuration-option
 */
export function capabilitiesWith({ inspection, scope }: LockFacts): LockCapabilities {
  return { kind: 'session', boundedStaleness: false, serverSideWait: true, fencing: 'none', inspection, scope, maxLocks: 1_000, clockUncertaintyMs: 0 }
}
