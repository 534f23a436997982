import type { LockCapabilities } from './capabilities.ts'
import type { ErrorClass } from './error-class.ts'
import type { LockName } from './lock-name.ts'
import type { LockProbe } from './probe.ts'
import type { SqlSession } from './sql-session.ts'
import type { Tables } from './store-dialect.ts'

/** A connection that locks live on (or, for a lease source, travel through). Opaque to the core but for this. */
export interface LockConnection {
  readonly id?: string | number
  /** The same physical session as SQL, when it is one: the core then runs the node's heartbeat on it. */
  readonly sql?: SqlSession
  ping(): Promise<void>
  /** Ends the physical connection at once, and with it every session lock. Idempotent, never throws. */
  destroy(): void
  onLost?(callback: (cause: Error) => void): void
}

export interface OpenOptions {
  /** Aborts the opening. A connection that arrives late is destroyed by the dialect. */
  readonly signal: AbortSignal
  /** The lease. Session sources make the server end an idle session after it, where the server can. */
  readonly leaseMs: number
  /** Shown to the database's operator (application_name and the like): `sched:<namespace>:<ownerLabel>`, where the owner label is `<host>:<pid>`. */
  readonly label: string
  /** The tables of @sched, quoted, when the dialect has a store. Only sources that keep locks in a table need them. */
  readonly tables?: Tables
  /** As the probe found it; false or absent while probing. */
  readonly sharedSessions?: boolean
}

/** One acquisition. The owner is random per acquisition and never reused. */
export interface LockRequest {
  readonly name: LockName
  readonly owner: string
  /** For people: host and pid. */
  readonly ownerLabel: string
  readonly leaseMs: number
}

/** What a held lock is addressed by. */
export interface LockHolding {
  readonly name: LockName
  readonly owner: string
  /** As granted; undefined where the source has none, or when the answer to the grant was lost: then the owner alone addresses it. */
  readonly fencingToken: number | undefined
}

/** `indeterminate`: the server may or may not have granted it. The core verifies with `isHeld` on the same connection, or destroys it. */
export type LockOutcome =
  | { readonly status: 'granted'; readonly fencingToken?: number }
  | { readonly status: 'refused' }
  | { readonly status: 'indeterminate'; readonly reason: string }

/** `not-held`: the server says that this owner does not hold it (any more). */
export type ReleaseOutcome =
  | { readonly status: 'released' }
  | { readonly status: 'not-held' }
  | { readonly status: 'indeterminate'; readonly reason: string }

/** `unknown`: held by somebody else or free, and the source cannot tell which. */
export type HeldBy = 'mine' | 'other' | 'free' | 'unknown'

/** Who holds a lock. Whatever the database would not tell is undefined. */
export interface LockHolder {
  /** The owner where the source stores one; session sources know only the session. */
  readonly owner?: string
  readonly ownerLabel?: string
  readonly sessionId?: string | number
  readonly host?: string
  readonly user?: string
  /** Epoch milliseconds by the database's clock. */
  readonly sinceAt?: number
  readonly expiresAt?: number
  readonly fencingToken?: number
  /** Set when the account may not see more: what would have to be granted. */
  readonly notPermitted?: string
}

/**
 * The locking technique: SQL and the meaning of its answers, nothing else. No timer, no retry, no registry: the core never asks
 * for a name that is already held through the same source, and calls one method at a time per connection.
 * Methods reject with the driver's error; only contention is a result.
 */
export interface LockStrategy<C extends LockConnection = LockConnection> {
  /** One attempt, never waits. */
  tryLock(connection: C, request: LockRequest): Promise<LockOutcome>
  /** Waits inside the server for at most `waitMs` (> 0). Present when the capability `serverSideWait` is true. */
  lock?(connection: C, request: LockRequest, waitMs: number): Promise<LockOutcome>
  release(connection: C, holding: LockHolding): Promise<ReleaseOutcome>
  /**
   * Prolongs every holding to `leaseMs` from now and answers those that are no longer held, by owner. Session sources prove the
   * session alive (one round trip, however many locks); lease sources extend rows that have not expired, and never revive one.
   */
  refresh(connection: C, holdings: readonly LockHolding[], leaseMs: number): Promise<{ readonly lost: readonly string[] }>
  isHeld(connection: C, holding: LockHolding): Promise<HeldBy>
  /** Who holds it, or null when nobody does. Not permitted is a typed answer (`notPermitted`), not an error. */
  inspect(connection: C, name: LockName): Promise<LockHolder | null>
}

/** What an operator and the conformance suite may ask the server. Runs on a `pulse` connection of its own. */
export interface LockDiagnostics<C extends LockConnection = LockConnection> {
  /** Ids of the server sessions that carry this label, the asking one left out. */
  sessions(connection: C, label: string): Promise<readonly (string | number)[]>
  /** How many locks the sessions (or owners) with this label hold now. */
  locks(connection: C, label: string): Promise<number>
  /** Ends a server session. Absent where there are none (a file). */
  kill?(connection: C, id: string | number): Promise<void>
}

/** Where locks come from. It need not be SQL. */
export interface LockSource<C extends LockConnection = LockConnection> {
  /** The technique: `postgres:advisory`, `mysql:get_lock`, `locktable`. */
  readonly lockType: string
  /** The facts when the set-up is as recommended; `probe` has those of the server at hand. */
  readonly capabilities: LockCapabilities
  readonly strategy: LockStrategy<C>
  readonly diagnostics?: LockDiagnostics<C>
  /** True when the locks are rows of `sched_locks`: the core creates the table before the first use. */
  readonly needsLockTable?: boolean
  /** Looks at the server without changing it. Findings of level `refuse` stop `createLocks`. Rejects when unreachable. */
  probe(options: OpenOptions): Promise<LockProbe>
  /**
   * `pulse`: heartbeat and try-locks. `wait`: one waiting acquire. Always a physical connection of its own. May reject with an error
   * of any class, `contended` included: the core decides whether to try again.
   */
  open(purpose: 'pulse' | 'wait', options: OpenOptions): Promise<C>
  classify(error: unknown): ErrorClass
}
