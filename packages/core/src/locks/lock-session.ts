import { SchedError, asError } from '../errors.ts'
import type { GuardedSession } from '../session/guarded-session.ts'
import { safetyMarginMs } from '../session/safety-margin.ts'
import type { LockName } from '../spi/lock-name.ts'
import type { LockConnection, LockHolder } from '../spi/lock-source.ts'
import type { Timer } from '../time/clock.ts'
import { startStopwatch, type Stopwatch } from '../time/stopwatch.ts'
import { abortError } from '../time/wait.ts'
import { createBackoff } from './backoff.ts'
import { ConnectionSlot } from './connection-slot.ts'
import { DeadlineWatch } from './deadline-watch.ts'
import { Heartbeat } from './heartbeat.ts'
import { Holding, type HoldingKeeper } from './holding.ts'
import { registryOf, type HoldingRegistry, type Reservation } from './holding-registry.ts'
import { claimLock, clearUp, type Claimed } from './lock-claim.ts'
import { releaseHolding } from './lock-release.ts'
import { lockLost, type LockSessionCore } from './lock-session-core.ts'
import type { LockSessionOptions, LockSessionState, TryLockOutcome } from './lock-session-options.ts'
import { untilAborted } from './until-aborted.ts'

// The longest a server may think about one lock statement that does not wait.
const longestStatementMs = 5000

/**
 * Many locks on one connection. Doubt about one name is verified; doubt about the session destroys it, and with it its locks when
 * they belong to the session. Leases in rows live on: the connection is opened again, and they last while renewed in time.
 */
export class LockSession {
  readonly #options: LockSessionOptions
  readonly #registry: HoldingRegistry
  readonly #holdings = new Map<Holding, Reservation>()
  readonly #keeper: HoldingKeeper
  readonly #core: LockSessionCore
  readonly #slot: ConnectionSlot
  readonly #heartbeat: Heartbeat
  readonly #watch: DeadlineWatch
  #state: LockSessionState = 'open'
  /** Started when the last statement that succeeded was sent. */
  #proof: Stopwatch
  /** Why the last renewal failed; named as the cause when a lease runs out. */
  #lastFailure: Error | undefined
  /** Calls and clearing up in flight. */
  readonly #work = new Set<Promise<unknown>>()
  #idleTimer: Timer | undefined
  /** A renewal that has not been sent yet. */
  #renewal: Promise<void> | undefined

  constructor(options: LockSessionOptions) {
    this.#options = options
    const { source, clock, random, leaseMs, capabilities, ownerLabel, heartbeatMs = leaseMs / 3 } = options
    const tied = capabilities.kind === 'session'
    const goodForMs = leaseMs - safetyMarginMs(leaseMs, capabilities.clockUncertaintyMs)
    this.#registry = registryOf(source)
    this.#proof = startStopwatch(clock)
    this.#keeper = {
      goodForMs,
      sharedProof: () => tied ? this.#proof : undefined,
      lastFailure: () => this.#lastFailure,
      release: (holding) => this.#busy(() => releaseHolding(this.#core, holding)),
      refresh: () => this.refresh(),
      ended: (holding, how) => this.#ended(holding, how),
    }
    this.#heartbeat = new Heartbeat({
      clock, everyMs: heartbeatMs, backoff: createBackoff(random, Math.min(50, heartbeatMs), heartbeatMs),
      beat: () => this.refresh(), failed: (error) => this.#renewalFailed(error),
    })
    this.#watch = new DeadlineWatch(clock, () => this.#nextDeadlineMs())
    this.#slot = new ConnectionSlot({
      session: options.session, reopen: tied ? undefined : options.reopen,
      beforeSend: () => this.#beforeSend(), onLost: (session, cause) => this.#sessionEnded(session, cause),
      clock, turnMs: leaseMs,
    })
    this.#core = {
      slot: this.#slot, strategy: source.strategy, tied, leaseMs, clock, random, ownerLabel, fence: options.fence,
      statementMs: options.statementMs ?? Math.min(longestStatementMs, goodForMs / 2),
      refuseUnlessOpen: () => this.#refuseUnlessOpen(), renewed: (sent) => this.renewed(sent),
      quarantine: () => this.quarantine(), emit: (event) => options.onEvent?.(event),
      behind: (work) => this.#busy(() => work),
    }
    this.#rest()
  }

  get state(): LockSessionState { return this.#state }
  get sessionId(): string | number | undefined { return this.#slot.id }
  /** What is held now. */
  get holdings(): readonly Holding[] { return [...this.#holdings.keys()] }

  /**
   * One attempt that never waits for a holder; transient errors are tried again within the statement limit. After an abort the
   * attempt is finished and undone behind the caller's back.
   * @throws SchedError when the database could not be asked; SCHED_LOCK_LIMIT; what the signal aborts with
   */
  async tryLock(name: LockName, options: { signal?: AbortSignal | undefined } = {}): Promise<TryLockOutcome> {
    if (options.signal?.aborted === true) throw abortError(options.signal)
    const { capabilities, maxLocks = capabilities.maxLocks } = this.#options
    const reservation = this.#registry.tryReserve(name.canonical, Math.min(maxLocks, capabilities.maxLocks))
    if (reservation === undefined) return { status: 'refused', by: 'process' }
    let holding: Holding | undefined
    try {
      holding = await this.claim(reservation, name, options)
    } finally {
      if (holding === undefined) reservation.free()
    }
    return holding === undefined ? { status: 'refused', by: 'database' } : { status: 'acquired', holding }
  }

  /**
   * One attempt for a name that is reserved. A holding takes the reservation with it; when refused or rejected it stays the caller's
   * to free. With `waitMs` it waits inside the server, and an abort destroys the session: only where nothing else is held.
   * @throws SchedError as `tryLock`
   */
  claim(reservation: Reservation, name: LockName, options: { waitMs?: number; signal?: AbortSignal | undefined } = {}): Promise<Holding | undefined> {
    const { waitMs, signal } = options
    const claiming = this.#busy(async () => this.#hold(await claimLock(this.#core, reservation, name, waitMs, signal), reservation))
    if (signal === undefined || waitMs !== undefined) return claiming
    // Destroying the session would cost the other locks on it: the attempt goes on, and what it gets is given back.
    return untilAborted(claiming, signal, () => reservation.holdFor(claiming.then((holding) => holding?.release())))
  }

  /** A statement sent at `sent` succeeded on this session: the locks that belong to the session are proved by it. */
  renewed(sent: Stopwatch): void {
    // Judged by the old proof first: an answer that is processed too late is a loss.
    if (!this.#core.tied || this.judge() !== undefined || this.#slot.lost !== undefined) return
    if (sent.elapsedMs() < this.#proof.elapsedMs()) this.#proof = sent
  }

  /**
   * Judges what is held. To be asked before a heartbeat is sent: when a lock that belongs to the session is overdue, the session is
   * destroyed, and the reason returned.
   */
  judge(): SchedError | undefined {
    // Locks that belong to the session are as good as its last proof, all alike.
    if (this.#core.tied && this.#proof.elapsedMs() < this.#keeper.goodForMs) return undefined
    return this.holdings.map((holding) => holding.judge()).find((lost) => lost !== undefined)
  }

  /** Proves everything that is held, now: one round trip for all who ask before it is sent. @throws SchedError when the database could not be asked */
  refresh(): Promise<void> {
    if (this.#renewal !== undefined) return this.#renewal
    const renewal = this.#renew().finally(() => { if (this.#renewal === renewal) this.#renewal = undefined })
    return this.#renewal = renewal
  }

  async #renew(): Promise<void> {
    const live = this.#live()
    if (live.length === 0) return
    const { source, leaseMs, clock } = this.#options
    const leftMs = live.reduce((least, holding) => Math.min(least, holding.leftMs()), this.#core.statementMs)
    await this.#slot.run('the renewal of the locks', async (connection) => {
      this.#renewal = undefined
      const holdings = this.#live()
      if (holdings.length === 0) return
      const sent = startStopwatch(clock)
      const lost = new Set((await source.strategy.refresh(connection, holdings, leaseMs)).lost)
      for (const holding of holdings) {
        if (!lost.has(holding.owner)) holding.renew(sent)
        else if (holding.state === 'held') holding.lose(lockLost(holding, 'the database says that it is not held any more'))
      }
      this.renewed(sent)
      this.#lastFailure = undefined
    }, { deadlineMs: Math.max(1, leftMs), urgency: 'renewal' })
  }

  /** Who holds a name, by the database. @throws SchedError when the database could not be asked */
  inspect(name: LockName): Promise<LockHolder | null> {
    return this.#busy(() => this.#slot.run('inspecting a lock', async (connection) => {
      const sent = startStopwatch(this.#options.clock)
      const holder = await this.#options.source.strategy.inspect(connection, name)
      this.renewed(sent)
      return holder
    }, { deadlineMs: this.#core.statementMs }))
  }

  /** No new locks; the session ends with its last lock. Leases in rows know no quarantine: their connection proves nothing. */
  quarantine(): void {
    if (this.#state !== 'open' || !this.#core.tied) return
    this.#state = 'quarantined'
    if (this.#holdings.size > 0) void this.#busy(() => this.#verify()).catch((error: unknown) => this.#renewalFailed(asError(error)))
    else this.#rest()
  }

  /** Resolves when nothing is in flight any more, clearing up after aborted calls included. */
  async settled(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work)
  }

  /** Ends everything: what is still held is lost with `reason`, the connection is destroyed. Idempotent. */
  close(reason: SchedError): void {
    if (this.#state === 'closed') return
    const ended = this.#state === 'lost'
    this.#state = 'closed'
    for (const holding of this.holdings) holding.lose(reason)
    this.#stopTimers()
    this.#slot.end(reason)
    if (!ended) this.#options.onEnd?.()
  }

  #hold({ request, result }: Claimed, reservation: Reservation): Holding | undefined {
    if (!result.granted) return undefined
    const holding = new Holding({ name: request.name, owner: request.owner, fencingToken: result.fencingToken, sessionId: this.sessionId, sent: result.sent }, this.#keeper)
    this.#holdings.set(holding, reservation)
    // The session may have ended while the answer was on its way, or the answer may have come too late.
    const gone = this.#state === 'closed' || (this.#core.tied && this.#slot.lost !== undefined)
    if (gone) holding.lose(lockLost(holding, 'its session ended as it was granted', this.#slot.lost))
    const late = holding.judge()
    if (late !== undefined) {
      reservation.holdFor(this.#busy(() => clearUp(this.#core, request)))
      throw late
    }
    this.#idleTimer?.cancel()
    if (this.#options.heartbeat === 'own' || !this.#core.tied) this.#heartbeat.start()
    this.#watch.arm(holding.leftMs())
    return holding
  }

  #live(): Holding[] { return this.holdings.filter((holding) => holding.judge() === undefined && holding.state === 'held') }

  /** What one name left in doubt is asked for the others. */
  async #verify(): Promise<void> {
    await this.#slot.run('verifying the locks', async (connection) => {
      for (const holding of this.#live()) {
        const held = await this.#options.source.strategy.isHeld(connection, holding)
        if (held !== 'mine' && holding.state === 'held') holding.lose(lockLost(holding, 'the database says that its session does not hold it any more'))
      }
    }, { deadlineMs: this.#core.statementMs })
  }

  /** An overdue session must not be kept alive: a woken process would prolong a lock that others may have seen free. */
  #beforeSend(): void {
    if (!this.#core.tied) return
    this.judge()
    const unproved = this.#options.heartbeat === 'own' && this.#holdings.size === 0 && this.#proof.elapsedMs() >= this.#keeper.goodForMs
    if (unproved) this.#slot.destroy(new SchedError('SCHED_SESSION_LOST', 'the lock session was idle for longer than its lease and is not trusted any more.'))
  }

  #ended(holding: Holding, how: 'released' | 'lost' | 'overdue'): void {
    const reservation = this.#holdings.get(holding)
    this.#holdings.delete(holding)
    const reason = holding.judge()
    if (reason !== undefined && this.#state !== 'closed') this.#options.onEvent?.({ kind: 'lock.lost', name: holding.name.name, owner: holding.owner, reason })
    if (how === 'overdue' && this.#core.tied && reason !== undefined) this.#slot.destroy(reason)
    reservation?.free()
    if (this.#holdings.size === 0) this.#stopTimers()
    this.#rest()
  }

  #sessionEnded(session: GuardedSession<LockConnection>, error: Error): void {
    const tied = this.#options.capabilities.kind === 'session'
    const held = tied ? this.holdings : []
    if (this.#state !== 'closed') this.#options.onEvent?.({ kind: 'lock.session-lost', sessionId: session.id, held: held.length, error })
    if (!tied || this.#state === 'closed') return
    this.#state = 'lost'
    for (const holding of held) holding.lose(lockLost(holding, 'the session that held it ended', error))
    this.#stopTimers()
    this.#options.onEnd?.()
  }

  #renewalFailed(error: Error): void {
    this.#lastFailure = error
    if (this.#holdings.size > 0) this.#options.onEvent?.({ kind: 'lock.heartbeat-failed', held: this.#holdings.size, error })
  }

  #nextDeadlineMs(): number | undefined {
    this.judge()
    return this.#holdings.size === 0 ? undefined : this.holdings.reduce((least, holding) => Math.min(least, holding.leftMs()), Infinity)
  }

  #refuseUnlessOpen(): void {
    if (this.#state === 'open') return
    throw new SchedError('SCHED_SESSION_LOST', `the lock session is ${this.#state} and takes no new locks.`, { cause: this.#slot.lost, remedy: 'It is tried again on a new one.' })
  }

  #busy<T>(work: () => Promise<T>): Promise<T> {
    this.#idleTimer?.cancel()
    const running = work()
    const settled = (): void => { this.#work.delete(running); this.#rest() }
    this.#work.add(running)
    running.then(settled, settled)
    return running
  }

  /** With nothing to do a session in quarantine ends, and any other after its idle time. */
  #rest(): void {
    this.#idleTimer?.cancel()
    if (this.#work.size > 0 || this.#holdings.size > 0) return
    const { idleMs, clock } = this.#options
    if (this.#state === 'quarantined') this.close(new SchedError('SCHED_SESSION_LOST', 'the lock session was in doubt and has ended with its last lock.'))
    else if (this.#state === 'open' && idleMs !== undefined) {
      this.#idleTimer = clock.setTimer(() => this.close(new SchedError('SCHED_SESSION_LOST', 'the lock session was idle and was closed.')), idleMs, { unref: true })
    }
  }

  #stopTimers(): void {
    this.#idleTimer?.cancel()
    this.#heartbeat.stop()
    this.#watch.stop()
  }
}
