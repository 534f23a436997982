import { Worker } from 'node:worker_threads'
import { SchedError, asError } from '../errors.ts'
import type { Clock, Timer } from '../time/clock.ts'
import type { CallName, Calls, Call, FromThread, Notice, ThreadData, ToThread } from './protocol.ts'
import { threadFile } from './thread-file.ts'
import { fromWire } from './wire-error.ts'

export interface ThreadLinkOptions {
  readonly data: ThreadData
  readonly clock: Clock
  readonly onNotice: (notice: Notice) => void
  /** Any message arrived, so this event loop turns. */
  readonly onTurn: () => void
  /** The thread has ended although nobody told it to. Called once. */
  readonly onEnded: (error: SchedError) => void
}

interface Waiting { readonly timer: Timer; readonly resolve: (value: never) => void; readonly reject: (error: Error) => void }

/** One worker thread from its start to its end: calls with deadlines, notices, and what its end does to both. */
export class ThreadLink {
  readonly #options: ThreadLinkOptions
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  /** Calls that were given up: what their answers bring must be undone. */
  readonly #late = new Map<number, (value: never) => void>()
  readonly #exited = Promise.withResolvers<undefined>()
  #count = 0
  #failure: Error | undefined
  #ending = false
  #ended: SchedError | undefined
  #watch: Timer | undefined
  #silent = 0

  /** @throws SchedError SCHED_OPTION_INVALID; what `new Worker` throws */
  constructor(options: ThreadLinkOptions) {
    this.#options = options
    this.#worker = new Worker(threadFile(), { workerData: options.data, name: 'sched-pulse' })
    this.#worker.on('message', (message: FromThread) => this.#receive(message))
    this.#worker.on('messageerror', (error) => this.terminate(error))
    this.#worker.on('error', (thrown) => { this.#failure ??= asError(thrown) })
    this.#worker.once('exit', (code) => this.#onExit(code))
  }

  /** Why the thread has ended, or undefined while it lives. */
  get ended(): SchedError | undefined { return this.#ended }

  post(message: ToThread): void { this.#worker.postMessage(message) }

  /**
   * Asks the thread. What is answered after the deadline goes to `onLate`.
   * @throws SchedError what the thread answers; SCHED_QUERY_TIMEOUT; why the thread has ended
   */
  call<N extends CallName>(name: N, ask: Calls[N]['ask'], deadlineMs: number, onLate?: (value: Calls[N]['answer']) => void): Promise<Calls[N]['answer']> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    const id = this.#count += 1
    return new Promise((resolve, reject) => {
      const timer = this.#options.clock.setTimer(() => {
        this.#waiting.delete(id)
        if (onLate !== undefined) this.#late.set(id, onLate)
        reject(new SchedError('SCHED_QUERY_TIMEOUT', `the worker thread of the pulse did not answer "${name}" within ${deadlineMs} ms.`, { remedy: 'Look for a database that does not answer.' }))
      }, deadlineMs)
      this.#waiting.set(id, { timer, resolve, reject })
      this.post({ kind: 'call', id, call: { name, ...ask } as Call })
    })
  }

  /** Ends the thread for a reason of ours. Its owner learns it as if the thread had ended by itself. */
  terminate(reason: Error): void {
    this.#failure ??= reason
    void this.#worker.terminate()
  }

  /** Waits for the thread to end by itself, as it does once it has been told to, and ends it when it does not. Never throws. */
  async end(graceMs: number): Promise<void> {
    this.#ending = true
    const timer = this.#options.clock.setTimer(() => { void this.#worker.terminate() }, graceMs)
    await this.#exited.promise
    timer.cancel()
  }

  #receive(message: FromThread): void {
    this.#silent = 0
    // Until its first word the calls' own deadlines apply.
    if (this.#watch === undefined) this.#watchSilence()
    this.#options.onTurn()
    if (message.kind === 'answer') this.#settle(message.id, ({ resolve }) => resolve(message.value as never), message.value as never)
    else if (message.kind === 'refusal') this.#settle(message.id, ({ reject }) => reject(fromWire(message.error)))
    else this.#options.onNotice(message)
  }

  #settle(id: number, how: (waiting: Waiting) => void, value?: never): void {
    const waiting = this.#waiting.get(id)
    const late = this.#late.get(id)
    this.#waiting.delete(id)
    this.#late.delete(id)
    waiting?.timer.cancel()
    if (waiting !== undefined) how(waiting)
    else if (value !== undefined) late?.(value)
  }

  /** Each heartbeat tells something, a failed one too: a thread that says nothing for two leases hangs. */
  #watchSilence(): void {
    const { clock, data: { leaseMs } } = this.#options
    this.#watch = clock.setTimer(() => {
      // Counted, not measured: after a freeze this runs before the messages that wait.
      this.#silent += 1
      if (this.#silent < 3) this.#watchSilence()
      else this.terminate(new SchedError('SCHED_LEASE_LOST', `it said nothing for ${3 * leaseMs} ms.`))
    }, leaseMs, { unref: true })
  }

  #onExit(code: number): void {
    this.#watch?.cancel()
    this.#ended = new SchedError('SCHED_LEASE_LOST', `the worker thread that renewed the lease has ended (exit code ${code})${this.#failure === undefined ? '' : `: ${this.#failure.message}`}.`, {
      cause: this.#failure, remedy: 'It is started again.',
    })
    for (const { timer, reject } of this.#waiting.values()) {
      timer.cancel()
      reject(this.#ended)
    }
    this.#waiting.clear()
    this.#late.clear()
    this.#exited.resolve(undefined)
    if (!this.#ending) this.#options.onEnded(this.#ended)
  }
}
