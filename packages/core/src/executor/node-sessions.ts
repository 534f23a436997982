import { SchedError } from '../errors.ts'
import type { PulseSession } from '../ledger/ledger.ts'
import { LockSession } from '../locks/lock-session.ts'
import { ownerLabel, sessionLabel } from '../session/owner-label.ts'
import { openGuarded, reachDatabase } from '../session/reach-database.ts'
import type { GuardedSession } from '../session/guarded-session.ts'
import { StoreSession } from '../session/store-session.ts'
import type { OpenTransaction } from '../session/transaction-session.ts'
import type { LockConnection, LockSource, OpenOptions } from '../spi/lock-source.ts'
import type { LockProbe, Probe } from '../spi/probe.ts'
import type { SqlSession } from '../spi/sql-session.ts'
import type { SessionOptions, SessionPurpose, StoreDialect, Tables } from '../spi/store-dialect.ts'
import { startStopwatch, type Stopwatch } from '../time/stopwatch.ts'
import type { CheckedOptions } from './scheduler-options.ts'

export interface NodeSessionsOptions {
  readonly options: CheckedOptions<never>
  readonly store: StoreDialect
  readonly tables: Tables
  readonly namespace: string
  readonly probe: Probe
  /** The source of veto locks, with what its probe found; undefined: the ledger alone. */
  readonly veto: { readonly source: LockSource; readonly probe: LockProbe } | undefined
  readonly onLockSessionLost: (error: Error) => void
}

/**
 * The connections of one node: one pulse (heartbeat, and the veto locks where the lock source is the same database), one store, and
 * one per open `ctx.transaction`.
 */
export class NodeSessions {
  readonly pulse: PulseSession
  readonly store: StoreSession
  readonly #options: NodeSessionsOptions
  readonly #sharedPulse: StoreSession<LockConnection> | undefined
  #locks: { readonly session: GuardedSession<LockConnection>; readonly locks: LockSession } | undefined
  #opening: Promise<LockSession> | undefined

  constructor(options: NodeSessionsOptions) {
    this.#options = options
    this.store = this.#session('store')
    const { veto } = options
    this.#sharedPulse = veto?.probe.capabilities.kind === 'session' && options.options.locks === undefined ? this.#pulseOnLocks(veto.source) : undefined
    this.pulse = this.#sharedPulse ?? this.#session('pulse')
  }

  /** The session of the veto locks, opened again after a loss. */
  lockSession(): Promise<LockSession> {
    const current = this.#locks
    // In quarantine it says so itself, and ends with its last lock.
    if (current !== undefined && current.session.lost === undefined && current.locks.state !== 'closed') return Promise.resolve(current.locks)
    this.#opening ??= this.#openLocks().finally(() => { this.#opening = undefined })
    return this.#opening
  }

  get #openMs(): number { return Math.max(3000, this.#options.options.leaseMs / 2) }

  /** Destroys the session of the veto locks when they are overdue. */
  judgeLocks(): void { this.#locks?.locks.judge() }

  /** A heartbeat statement sent at `sent` succeeded: the locks on the same session are proved by it. */
  renewed(sent: Stopwatch): void {
    if (this.#sharedPulse !== undefined) this.#locks?.locks.renewed(sent)
  }

  async openTransaction(): Promise<OpenTransaction> {
    const { store, options: { clock, random, url } } = this.#options
    const classify = (error: unknown) => store.classify(error)
    const sql = await reachDatabase('opening a session for a transaction', (signal) => this.#open('transaction', signal), { clock, random, deadlineMs: this.#openMs, classify, url })
    return { sql, classify }
  }

  close(): void {
    const stopped = new SchedError('SCHED_STOPPED', 'the scheduler has stopped.')
    this.#locks?.locks.close(stopped)
    this.pulse.close()
    this.store.close()
  }

  async #openLocks(): Promise<LockSession> {
    const { veto, options: { clock, random, leaseMs, heartbeatMs, url }, onLockSessionLost } = this.#options
    if (veto === undefined) throw new RangeError('there are no veto locks in this set-up')
    const { source, probe } = veto
    const open = (): Promise<GuardedSession<LockConnection>> => this.#sharedPulse?.open() ?? openGuarded('lock', (signal) => source.open('pulse', this.#openOptions(signal)), { clock, random, deadlineMs: this.#openMs, classify: (error) => source.classify(error), url })
    const session = await open()
    const locks = new LockSession({
      source, capabilities: probe.capabilities, session, reopen: open, heartbeat: this.#sharedPulse === undefined ? 'own' : 'external', leaseMs, heartbeatMs, ownerLabel: ownerLabel(), clock, random,
      onEvent: (event) => { if (event.kind === 'lock.session-lost' || event.kind === 'lock.release-failed') onLockSessionLost(event.error) },
    })
    locks.renewed(startStopwatch(clock))
    this.#locks = { session, locks }
    return locks
  }

  #session(purpose: 'pulse' | 'store'): StoreSession {
    const { store } = this.#options
    return new StoreSession<SqlSession>({ ...this.#common(purpose), classify: (error) => store.classify(error), open: (signal) => this.#open(purpose, signal), sql: (raw) => raw })
  }

  /** The heartbeat on the session that also carries the locks: the statements of the one prove the other. */
  #pulseOnLocks(source: LockSource): StoreSession<LockConnection> {
    return new StoreSession<LockConnection>({
      ...this.#common('pulse'), classify: (error) => source.classify(error), open: (signal) => source.open('pulse', this.#openOptions(signal)), sql: (raw) => raw.sql as SqlSession,
    })
  }

  #common(label: string) {
    const { options: { clock, random, heartbeatMs, url }, probe } = this.#options
    return { clock, random, label, callMs: Math.max(500, heartbeatMs), openMs: this.#openMs, sharedSessions: probe.sharedSessions, url }
  }

  #open(purpose: SessionPurpose, signal: AbortSignal): Promise<SqlSession> {
    const { store, probe, options: { heartbeatMs } } = this.#options
    const session: SessionOptions = {
      ...this.#openOptions(signal), statementMs: Math.max(250, Math.min(5000, Math.floor(heartbeatMs * 0.8))), rowLockMs: Math.min(1000, Math.floor(heartbeatMs / 2)), sharedSessions: probe.sharedSessions,
    }
    return store.open(purpose, session)
  }

  #openOptions(signal: AbortSignal): OpenOptions {
    const { options: { leaseMs }, namespace, tables, probe } = this.#options
    return { signal, leaseMs, label: sessionLabel(namespace), tables, sharedSessions: probe.sharedSessions }
  }
}
