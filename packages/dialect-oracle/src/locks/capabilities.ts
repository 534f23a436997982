import type { LockCapabilities } from '@sched/core/spi'

export interface LockFacts {
  /** The account may read gv$lock and gv$session. */
  readonly inspection: boolean
  /** Several instances, each with its host's clock. */
  readonly cluster: boolean
}

export function capabilitiesWith({ inspection, cluster }: LockFacts): LockCapabilities {
  return {
    kind: 'session',
    // Oracle ends no session for its client's silence within seconds (a profile's IDLE_TIME is minutes): a frozen holder holds on.
    boundedStaleness: false,
    serverSideWait: true,
    fencing: 'none',
    inspection,
    // "in the same or another instance": one name, one lock within the database; DBMS_LOCK_ALLOCATED is each container's own.
    scope: 'database',
    // The manual calls user locks efficient up to "a few hundred" per session.
    maxLocks: 200,
    clockUncertaintyMs: cluster ? 500 : 0,
  }
}
