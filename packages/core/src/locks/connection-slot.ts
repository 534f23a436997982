import { SchedError } from '../errors.ts'
import type { GuardedSession } from '../session/guarded-session.ts'
import type { LockConnection } from '../spi/lock-source.ts'

export interface ConnectionSlotOptions {
  session: GuardedSession<LockConnection>
  /** Opens the next one after a loss; undefined: a loss is for ever. Has a deadline of its own. */
  reopen: (() => Promise<GuardedSession<LockConnection>>) | undefined
  /** Called inside the session's turn, right before work is sent. May destroy the session. */
  beforeSend(): void
  /** Called once per session that ends, by us or not. */
  onLost(session: GuardedSession<LockConnection>, cause: Error): void
}

/** The one connection that locks travel through; where leases outlive a connection, its successor after a loss. */
export class ConnectionSlot {
  readonly #options: ConnectionSlotOptions
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
  async run<T>(what: string, work: (connection: LockConnection) => Promise<T>, limits: { deadlineMs: number; signal?: AbortSignal | undefined }): Promise<T> {
    const session = await this.#open()
    return session.exclusive(what, (connection) => {
      this.#options.beforeSend()
      if (session.lost !== undefined) throw session.lost
      return work(connection)
    }, limits)
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
