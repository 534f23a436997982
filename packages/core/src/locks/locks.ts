import type { TableOptions } from '../ledger/tables.ts'
import type { Dialect } from '../spi/dialect.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import type { LockEventListener } from './lock-events.ts'

export interface LocksOptions {
  /** The database. Exactly one of `dialect` and `url`. It stays the caller's to close. */
  dialect?: Dialect
  /** Finds the dialect by the URL's scheme; closed by `close()`. */
  url?: string
  /** 1 to 32 of `a-z 0-9 _ -`. Default: derived from database, schema and table prefix. Processes exclude each other within one. */
  namespace?: string
  /** How long a lock outlives the last sign of life of its holder. At least 1,000. Default 30,000. */
  leaseMs?: number
  /** How often held locks are renewed. Lease less safety margin must be two heartbeats at least. Default a third of the lease. */
  heartbeatMs?: number
  /** The most connections for acquires that wait inside the server, and for the locks they got; above it they poll. Default 4. */
  maxWaiting?: number
  /** The most names this process may use at once. Default and ceiling: what the dialect allows. */
  maxLocks?: number
  /** True: native locks draw fencing tokens from companion rows in `sched_locks`. Lock tables always have tokens. Default false. */
  fencing?: boolean
  /** Where `sched_locks` is, for lock tables and `fencing: true`. */
  tables?: TableOptions
  /** False: the table is not created; its DDL is named in the error. Default true. */
  migrate?: boolean
  /** How long opening a session or probing may take. Default 10,000. */
  openMs?: number
  /** Told what happens beside the results of calls. Default: warnings go to `process.emitWarning`, and so do errors it throws. */
  onEvent?: LockEventListener
  /** Default: the system's. */
  clock?: Clock
  /** Numbers in [0, 1) for jitter. Default `Math.random`. */
  random?: () => number
}

export interface TryAcquireOptions {
  /** Gives up; what was granted meanwhile is given back. */
  signal?: AbortSignal
}

export interface AcquireOptions extends TryAcquireOptions {
  /** How long to wait: the run times of all holders that may come before, and 30 % more. 0: one attempt. Default 30,000. */
  waitMs?: number
}

/** One holding of a lock. */
export interface Lease extends AsyncDisposable {
  readonly name: string
  /** Random, for this acquisition alone. */
  readonly owner: string
  /** Grows with every grant of the name, where the source has tokens; else undefined. */
  readonly fencingToken: number | undefined
  /** The server session it lives on, where sessions have ids. */
  readonly sessionId: string | number | undefined
  /** Aborts with the reason as soon as the lease is lost or in doubt; judged at every look. A normal release does not abort it. */
  readonly signal: AbortSignal
  /**
   * Proves the lease now; the heartbeat does so by itself.
   * @throws SchedError SCHED_LOCK_LOST, or why the database could not be asked (the lease then lives on until its time is over)
   */
  refresh(): Promise<void>
  /** Gives it back. Never throws, idempotent. `lost`: the work was, or may have been, unguarded. */
  release(): Promise<{ readonly status: 'released' | 'lost' }>
}

export type TryAcquireOutcome = { readonly status: 'acquired'; readonly lease: Lease } | { readonly status: 'refused' }

/** A lock of ours, as `list` shows it. */
export interface OwnLock {
  readonly name: string
  readonly owner: string
  readonly fencingToken: number | undefined
  readonly sessionId: string | number | undefined
}

/**
 * Locks on a database. Not re-entrant: a second request for a name is refused, its owner's included. A held native lock keeps the
 * process alive by its connection, as any open connection does; once nothing is held, or after `close`, nothing does.
 */
export interface Locks extends AsyncDisposable {
  /** One attempt. Contention is a result; @throws SchedError for everything else. */
  tryAcquire(name: string, options?: TryAcquireOptions): Promise<TryAcquireOutcome>
  /** Waits for its turn. @throws SchedError SCHED_LOCK_TIMEOUT when others held it all the time; or why the database could not be asked */
  acquire(name: string, options?: AcquireOptions): Promise<Lease>
  /**
   * Runs `fn` while the lock is held, and gives the lock back. An error of `fn` is thrown as it is.
   * @throws SchedError SCHED_LOCK_LOST when `fn` succeeded but the lock was lost meanwhile; as `acquire`
   */
  with<T>(name: string, fn: (lease: Lease) => Promise<T> | T, options?: AcquireOptions): Promise<T>
  /** Who holds it, by the database; null when nobody does. @throws SchedError SCHED_CAPABILITY_MISSING where it cannot tell */
  inspect(name: string): Promise<LockHolder | null>
  /** What is held through this object. */
  list(): readonly OwnLock[]
  /** Aborts what waits, gives everything back, ends the sessions. Idempotent. @param options.deadlineMs default 5,000 */
  close(options?: { deadlineMs?: number }): Promise<void>
}
