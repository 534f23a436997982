import { SchedError } from '../errors.ts'
import type { GuardedSession } from '../session/guarded-session.ts'
import type { LockConnection } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import { TurnQueue, type Urgency } from './turn-queue.ts'

export interface ConnectionSlotOptions {
  session: GuardedSession<LockConnection>
  /** Opens the next one after a loss; undefined: a loss is for ever. Has a deadline of its own. */
  reopen: (() => Promise<GuardedSession<LockConnection>>) | undefined
  /** Called inside the session's turn, right before work is sent. May destroy the session. */
  beforeSend(): void
  /** Called once per session that ends, by us or not. */
  onLost(session: GuardedSession<LockConnection>, cause: Error): void
  clock: Clock
  /** The longest a call waits for those before it. */
  turnMs: number
}

export interface SlotLimits {
  /** The longest the work itself may take. */
  deadlineMs: number
  /** Default `other`. */
  urgency?: Urgency
  /** Gives up in the queue; in flight it destroys the session. */
  signal?: AbortSignal | undefined
}

/** The one connection that locks travel through; where leases outlive a connection, its successor after a loss. */
export class ConnectionSlot {
  readonly #options: ConnectionSlotOptions
  readonly #turns = new TurnQueue()
  #current: GuardedSession<LockConnection>
  #opening: Promise<GuardedSession<LockConnection>> | undefined
  #ended: SchedError | undefined

  constructor(options: ConnectionSlotOptions) {
    this.#options = options
    this.#current = options.session
    this.#watch(options.session)
  }

  get id(): string | number | undefined { return this.#current.id }

  /** Why the present connection is gone, or undefined while it is good. */
  get lost(): Error | undefined { return this.#current.lost }

  /** True when it has ended for good. */
  get over(): boolean { return this.#ended !== undefined }

  /** Runs `work` alone on the connection, opened again first where that may be. @throws SchedError */
  run<T>(what: string, work: (connection: LockConnection) => Promise<T>, limits: SlotLimits): Promise<T> {
    const { clock, turnMs } = this.#options
    const { deadlineMs, urgency = 'other', signal } = limits
    return this.#turns.run(async () => {
      const session = await this.#open()
      return session.exclusive(what, (connection) => {
        this.#options.beforeSend()
        if (session.lost !== undefined) throw session.lost
        return work(connection)
      }, { deadlineMs, signal })
    }, {
      clock, urgency, signal, deadlineMs: turnMs,
      onDeadline: () => new SchedError('SCHED_QUERY_TIMEOUT', `${what} did not get its turn on the lock session within ${turnMs} ms.`, { remedy: 'The database is slow, or too many locks are asked for at once.' }),
    })
  }

  /** Destroys the present connection; it may be opened again. */
  destroy(reason: SchedError): void { this.#current.destroy(reason) }

  /** Destroys it for good. */
  end(reason: SchedError): void {
    this.#ended ??= reason
    this.#current.destroy(reason)
  }

  async #open(): Promise<GuardedSession<LockConnection>> {
    const { reopen } = this.#options
    if (this.#ended !== undefined) throw this.#ended
    if (this.#current.lost === undefined || reopen === undefined) return this.#current
    this.#opening ??= reopen().then((session) => {
      if (this.#ended !== undefined) { session.destroy(this.#ended); throw this.#ended }
      this.#current = session
      this.#watch(session)
      return session
    }).finally(() => { this.#opening = undefined })
    return this.#opening
  }

  #watch(session: GuardedSession<LockConnection>): void {
    session.onLost((cause) => this.#options.onLost(session, cause))
  }
}
