import type { LockSource } from './lock-source.ts'
import type { StoreDialect } from './store-dialect.ts'

/**
 * One database. A dialect is SQL fragments, a lock technique and a table of error codes; the core is everything else.
 * It never owns a timer, a deadline, a retry, a heartbeat, a registry of held locks or an event.
 */
export interface Dialect<TClient = unknown> {
  readonly spiVersion: 1
  /** `postgres`, `locktable+postgres`, `sqlite`. */
  readonly name: string
  readonly locks: LockSource
  /** Absent: good for `createLocks` only. */
  readonly store?: StoreDialect<TClient>
  /** Ends what the dialect opened itself (a pool made from a URL), never what the user handed over. Idempotent. */
  close(): Promise<void>
}

/** What a dialect package exports as `sched`, so that a URL finds it. */
export interface DialectModule {
  readonly spiVersion: 1
  /** URL schemes without the colon. */
  readonly schemes: readonly string[]
  /** Checks the URL and returns the dialect; connects to nothing. @throws SchedError SCHED_OPTION_INVALID */
  create(url: string): Dialect
}
