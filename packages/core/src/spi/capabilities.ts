/** Facts about a lock technique, not options. They drive the core, the conformance suite and the documentation tables. */
export interface LockCapabilities {
  /** `session`: the lock lives as long as a server session. `lease`: a row with an expiry judged by the database's clock. */
  readonly kind: 'session' | 'lease'
  /** True when the server itself ends a dead or frozen holder's lock within `leaseMs`. Needed for the executor's veto. */
  readonly boundedStaleness: boolean
  /** True when `LockStrategy.lock` exists and waits inside the server; else the core polls `tryLock`. */
  readonly serverSideWait: boolean
  /** `row`: grants carry a token that only grows. `none`: the source has no token of its own. */
  readonly fencing: 'row' | 'none'
  /** True when `inspect` can name the holder. */
  readonly inspection: boolean
  /** How far two clients may be apart and still exclude each other. */
  readonly scope: 'host' | 'database' | 'instance' | 'cluster'
  /** The most locks the core lets one node hold here, far below the server's own limit. */
  readonly maxLocks: number
  /** How far the clocks of the servers behind one URL may disagree (0 for one server). Added to every safety margin. */
  readonly clockUncertaintyMs: number
}
