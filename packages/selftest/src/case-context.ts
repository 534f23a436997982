import type {
  Dialect, HeldBy, LockConnection, LockHolder, LockHolding, LockKind, LockName, LockOutcome, LockRequest, LockSource, OpenOptions, ReleaseOutcome, SqlSession,
  StoreDialect, Tables,
} from '@sched/core/spi'
import type { Facts } from './facts.ts'
import type { Locks } from './library.ts'

/** What a case may use. Everything it opens or takes is given back by the runner when it ends, however it ends. */
export interface CaseContext {
  readonly dialect: Dialect
  readonly source: LockSource
  readonly facts: Facts
  /** The short lease of the cases that wait for the end of one. Everything else has a long one, so that no pause ends it. */
  readonly leaseMs: number
  /** The lease of the cases that keep one by refreshing it in time: no pause of a busy machine outlasts it. */
  readonly keptLeaseMs: number
  /** Within this the server answers what needs no waiting, on a slow line too; measured with `quickest`. */
  readonly promptMs: number
  /** Within this there is what nothing holds up, on a busy machine too. For what a broken dialect does much later, or never. */
  readonly soonMs: number
  /** How much later than the lease a dead holder may be replaced: whole seconds on some servers, and the way there. */
  readonly graceMs: number
  /** What operators see of this case's connections. */
  readonly label: string
  readonly namespace: string
  /** The connection options of this case, for cases that open by hand. */
  openOptions(changes?: Partial<OpenOptions>): OpenOptions
  /** A text with the secrets of the target taken out. */
  redact(text: string): string
  /** The secrets of the target, for the case that looks for them. */
  readonly secrets: readonly string[]

  /** A name that no other case and no other run uses. */
  name(text?: string, place?: { kind?: LockKind; namespace?: string }): LockName
  /** A name of exactly this text: unique by the case's namespace alone. */
  exactName(text: string, place?: { kind?: LockKind; namespace?: string }): LockName
  /** A new owner with every call. */
  request(name: LockName, changes?: Partial<LockRequest>): LockRequest

  open(options?: { purpose?: 'pulse' | 'wait' } & Partial<OpenOptions>): Promise<LockConnection>
  openStore(): Promise<{ store: StoreDialect; session: SqlSession; tables: Tables }>
  /** The library on this dialect, with the short lease and a heartbeat of a quarter of it unless said otherwise. */
  locks(options?: { leaseMs?: number; heartbeatMs?: number }): Locks
  /** What the server calls the library's connections of this case. */
  readonly libraryLabel: string

  tryLock(connection: LockConnection, request: LockRequest): Promise<LockOutcome>
  /** Waits inside the server; fails where the source cannot. */
  lock(connection: LockConnection, request: LockRequest, waitMs: number): Promise<LockOutcome>
  release(connection: LockConnection, holding: LockHolding): Promise<ReleaseOutcome>
  refresh(connection: LockConnection, holdings: readonly LockHolding[], leaseMs?: number): Promise<readonly string[]>
  isHeld(connection: LockConnection, holding: LockHolding): Promise<HeldBy>
  inspect(connection: LockConnection, name: LockName): Promise<LockHolder | null>

  /** Takes a lock that must be free. */
  take(connection: LockConnection, what: LockName | LockRequest): Promise<LockHolding>
  /** A lock that must be taken already. */
  mustBeRefused(connection: LockConnection, name: LockName, why: string): Promise<void>
  /** Takes and releases a lock that must be free. */
  mustBeFree(connection: LockConnection, name: LockName, why: string): Promise<void>
  /** Tries again and again until the lock is granted; fails when a try that began after `withinMs` is refused. Answers after how long it was granted. */
  takeWithin(connection: LockConnection, name: LockName, withinMs: number): Promise<{ holding: LockHolding; afterMs: number }>

  /** The server sessions with this label, as the observer's session sees them. */
  sessions(label?: string): Promise<readonly (string | number)[]>
  /** How many locks this label holds. */
  lockCount(label?: string): Promise<number>
  kill(connection: LockConnection): Promise<void>

  sleep(delayMs: number): Promise<void>
  /** Looks again and again; fails with what was waited for when a look that began after `withinMs` finds it missing. */
  eventually(what: string, withinMs: number, check: () => Promise<boolean> | boolean): Promise<void>
  /** Awaits an operation and says how long it took. */
  timed<T>(work: () => Promise<T>): Promise<{ result: T; tookMs: number }>
  /**
   * How long it takes at its quickest, of three times at most; once is enough when it takes less than `enoughMs`. A pause of the machine makes
   * one time long, a dialect that waits all of them.
   */
  quickest(enoughMs: number, work: () => Promise<void>): Promise<number>
}
