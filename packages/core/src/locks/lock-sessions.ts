import { SchedError, isSchedError } from '../errors.ts'
import type { LockName } from '../spi/lock-name.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Holding } from './holding.ts'
import type { Reservation } from './holding-registry.ts'
import type { LockEvent } from './lock-events.ts'
import type { LockSetUp, SetUpContext } from './lock-set-up.ts'
import { LockSession } from './lock-session.ts'
import { ownerLabel } from '../session/owner-label.ts'
import { untilAborted } from './until-aborted.ts'

// A session that holds nothing is kept this long for the next lock.
const longestIdleMs = 10_000

/**
 * The sessions of one `createLocks`: one for try-locks and heartbeats, opened when needed and again after a loss, and at most
 * `maxWaiting` for waits inside the server and the locks they got.
 */
export class LockSessions {
  readonly #setUp: LockSetUp
  readonly #context: SetUpContext
  readonly #all = new Set<LockSession>()
  #main: LockSession | undefined
  #opening: Promise<LockSession> | undefined
  #waiting = 0
  /** A session ended without our doing: the server behind the URL may be another one now. */
  #suspect = false

  constructor(setUp: LockSetUp, context: SetUpContext) {
    this.#setUp = setUp
    this.#context = context
  }

  /** Open sessions. */
  get size(): number { return this.#all.size }

  /** One attempt on the main session, and one more on a new one when it had died unnoticed. */
  claim(reservation: Reservation, name: LockName, signal: AbortSignal): Promise<Holding | undefined> {
    return this.#onMain((session) => session.claim(reservation, name, { signal }), signal)
  }

  inspect(name: LockName, signal: AbortSignal): Promise<LockHolder | null> {
    return this.#onMain((session) => session.inspect(name), signal)
  }

  /**
   * A session for one waiting acquire; ends with its lock, or by `close`. Undefined when there are enough, or when it could not be
   * opened within `withinMs`. @throws SchedError
   */
  async openWaiting(withinMs: number, signal: AbortSignal): Promise<LockSession | undefined> {
    const { options } = this.#context
    if (this.#waiting >= options.maxWaiting) return undefined
    this.#waiting += 1
    const leave = (): void => { this.#waiting -= 1 }
    const deadlineMs = Math.min(withinMs, options.openMs)
    try {
      const session = await this.#setUp.open('wait', { deadlineMs, signal })
      return this.#make(session, {
        onEnd: leave,
        // The end of a session that only waited is the waiter's business.
        onEvent: (event) => { if (event.kind !== 'lock.session-lost' || event.held > 0) this.#emit(event) },
      })
    } catch (error) {
      leave()
      // The caller's wait ran out, not the patience with the database.
      if (withinMs < options.openMs && isSchedError(error, 'SCHED_DATABASE_UNREACHABLE') && error.details['deadlineMs'] === deadlineMs) return undefined
      throw error
    }
  }

  /** Resolves when no session has anything in flight. */
  async settled(): Promise<void> {
    await Promise.all([...this.#all].map((session) => session.settled()))
  }

  /** Ends every session; what is still held is lost. */
  close(reason: SchedError): void {
    for (const session of [...this.#all]) session.close(reason)
  }

  async #onMain<T>(work: (session: LockSession) => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#main
    const session = await untilAborted(this.#open(), signal)
    try {
      return await work(session)
    } catch (error) {
      // It had ended while nobody looked, and what was sent there has ended with it.
      if (session !== before || session.state === 'open' || !isSchedError(error, 'SCHED_SESSION_LOST') || signal.aborted) throw error
      return work(await untilAborted(this.#open(), signal))
    }
  }

  async #open(): Promise<LockSession> {
    if (this.#main?.state === 'open') return this.#main
    this.#opening ??= this.#openNew().finally(() => { this.#opening = undefined })
    return this.#opening
  }

  async #openNew(): Promise<LockSession> {
    if (this.#suspect) {
      await this.#setUp.check()
      this.#suspect = false
    }
    const { options } = this.#context
    const session = await this.#setUp.open('pulse')
    this.#main = this.#make(session, {
      idleMs: Math.min(longestIdleMs, options.heartbeatMs),
      onEvent: (event) => {
        if (event.kind === 'lock.session-lost') this.#suspect = true
        this.#emit(event)
      },
    })
    return this.#main
  }

  #make(session: Awaited<ReturnType<LockSetUp['open']>>, extra: { idleMs?: number; onEnd?: () => void; onEvent: (event: LockEvent) => void }): LockSession {
    const { options } = this.#context
    const { source, capabilities, maxLocks, fence } = this.#setUp
    // It may be lost before it is made.
    let made: LockSession | undefined = undefined
    made = new LockSession({
      source, capabilities, session, reopen: () => this.#setUp.open('pulse', { signal: this.#context.ended }), heartbeat: 'own',
      leaseMs: options.leaseMs, heartbeatMs: options.heartbeatMs, ownerLabel: ownerLabel(), maxLocks,
      clock: options.clock, random: options.random, ...(fence === undefined ? {} : { fence }), ...extra,
      onEnd: () => { if (made !== undefined) this.#all.delete(made); extra.onEnd?.() },
    })
    if (made.state === 'open') this.#all.add(made)
    return made
  }

  #emit(event: LockEvent): void { this.#context.emit(event) }
}
