import { SchedError, asError, isSchedError } from '../errors.ts'
import { sessionSurvives, type ErrorClass } from '../spi/error-class.ts'
import type { Clock } from '../time/clock.ts'
import { withDeadline } from '../time/wait.ts'
import { classifiedError, errorClassOf } from './classified-error.ts'

/** What is guarded: a SqlSession or a LockConnection. */
export interface Destroyable {
  readonly id?: string | number
  destroy(): void
  onLost?(callback: (cause: Error) => void): void
}

export interface GuardOptions {
  clock: Clock
  classify(error: unknown): ErrorClass
  /** What it is for, in error messages: `pulse`, `store`. */
  label: string
}

/**
 * A physical session with one owner: one call at a time, each with a deadline, destroyed on doubt and never given back.
 * Loss is noticed passively too: by events of the driver, without a query.
 */
export class GuardedSession<S extends Destroyable> {
  readonly raw: S
  readonly #options: GuardOptions
  readonly #lostCallbacks = new Set<(cause: Error) => void>()
  #tail: Promise<unknown> = Promise.resolve()
  #lost: Error | undefined

  constructor(raw: S, options: GuardOptions) {
    this.raw = raw
    this.#options = options
    raw.onLost?.((cause) => this.#markLost(this.#sessionLost(cause)))
  }

  get id(): string | number | undefined { return this.raw.id }

  /** Why the session is gone, or undefined while it is good. */
  get lost(): Error | undefined { return this.#lost }

  /** Calls back once, at once when it is lost already. */
  onLost(callback: (cause: Error) => void): void {
    if (this.#lost === undefined) this.#lostCallbacks.add(callback)
    else callback(this.#lost)
  }

  /**
   * Runs `work` alone on the session. Queues behind other work; the deadline counts from the call, queueing included.
   * An error is classified; a class that a session does not survive, a missed deadline and an abort in flight destroy it.
   * @throws SchedError
   */
  async exclusive<T>(what: string, work: (raw: S) => Promise<T>, limits: { deadlineMs: number; signal?: AbortSignal | undefined }): Promise<T> {
    if (this.#lost !== undefined) throw this.#sessionLost(this.#lost)
    let started = false
    let abandoned: Error | undefined
    const run = async (): Promise<T> => {
      if (abandoned !== undefined) throw new SchedError('SCHED_ABORTED', `${what} was given up before it began.`)
      if (this.#lost !== undefined) throw this.#sessionLost(this.#lost)
      started = true
      return work(this.raw)
    }
    const result = this.#tail.then(run, run)
    // The chain goes on whatever happened: the result itself reports the error to its caller.
    this.#tail = result.then(() => undefined, () => undefined)
    try {
      return await withDeadline(this.#options.clock, result, {
        ...limits,
        onDeadline: () => new SchedError('SCHED_QUERY_TIMEOUT', `${what} had no answer within ${limits.deadlineMs} ms on the ${this.#options.label} session.`,
          { remedy: 'The session was destroyed; look for a frozen server, a lost network or a lock that is held.' }),
        onAbandon: (reason) => { abandoned = reason; if (started) this.destroy(reason) },
      })
    } catch (thrown) {
      // The reason of an abort is the caller's own error, not the driver's.
      if (thrown === abandoned) throw thrown
      throw this.#translate(what, thrown)
    }
  }

  /** Ends the session. Holders learn through `onLost`. */
  destroy(reason: Error): void {
    this.#markLost(reason)
    this.raw.destroy()
  }

  #translate(what: string, thrown: unknown): Error {
    if (isSchedError(thrown)) {
      const given = errorClassOf(thrown)
      if (given !== undefined && !sessionSurvives.has(given)) this.destroy(thrown)
      return thrown
    }
    const errorClass = this.#options.classify(thrown)
    const error = classifiedError(errorClass, what, asError(thrown))
    if (!sessionSurvives.has(errorClass)) this.destroy(error)
    return error
  }

  #sessionLost(cause: Error): Error {
    if (isSchedError(cause)) return cause
    return new SchedError('SCHED_SESSION_LOST', `the ${this.#options.label} session to the database ended: ${cause.message}.`, { cause })
  }

  #markLost(cause: Error): void {
    if (this.#lost !== undefined) return
    this.#lost = cause
    const callbacks = [...this.#lostCallbacks]
    this.#lostCallbacks.clear()
    for (const callback of callbacks) callback(cause)
  }
}
