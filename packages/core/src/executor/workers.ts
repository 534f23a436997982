import { SchedError } from '../errors.ts'
import { abortError } from '../time/wait.ts'

/**
 * What a full node does with what comes next. `caller-runs` (default): it waits its turn, however long the queue; nothing is lost. The
 * others bound the queue and stop competing for the slot, as an event of this node only: an idle node may still run it. `abort` and
 * `discard` turn away the newcomer (`abort` also reports an error), `discard-oldest` whoever has waited longest.
 */
export type FullPolicy = 'caller-runs' | 'abort' | 'discard' | 'discard-oldest'

export interface WorkersOptions {
  /** Attempts at once. */
  readonly concurrency: number
  /** The longest queue of the bounded policies. */
  readonly maxQueued: number
  readonly full: FullPolicy
  /** With `abort`. */
  readonly onAbort: (error: SchedError) => void
}

interface Waiting { readonly priority: number; readonly order: number; readonly grant: () => void; readonly refuse: (error: Error) => void }

/**
 * The local workers. A claim waits here *before* it competes for a slot, so that a busy node loses the race to an idle one and
 * nothing that was claimed is ever queued. Higher priority first, then first come.
 */
export class Workers {
  readonly #options: WorkersOptions
  #busy = 0
  #order = 0
  readonly #waiting: Waiting[] = []

  constructor(options: WorkersOptions) { this.#options = options }

  get busy(): number { return this.#busy }

  get waiting(): number { return this.#waiting.length }

  /** Of whoever is next; undefined when nobody waits. */
  get nextPriority(): number | undefined { return this.#waiting[0]?.priority }

  /**
   * Resolves with the way to give the worker back (idempotent).
   * @throws SchedError SCHED_WORKERS_BUSY when the policy turns it away; what the signal aborts with
   */
  acquire(priority: number, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(abortError(signal))
    if (this.#busy < this.#options.concurrency) return Promise.resolve(this.#take())
    const turnedAway = this.#makeRoom()
    if (turnedAway !== undefined) return Promise.reject(turnedAway)
    return new Promise((resolve, reject) => {
      const leave = (error: Error): void => { signal.removeEventListener('abort', onAbort); reject(error) }
      const onAbort = (): void => { this.#waiting.splice(this.#waiting.indexOf(waiting), 1); leave(abortError(signal)) }
      const waiting: Waiting = {
        priority, order: this.#order += 1, refuse: leave,
        grant: () => { signal.removeEventListener('abort', onAbort); resolve(this.#take()) },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.splice(this.#waiting.findLastIndex((earlier) => earlier.priority >= priority) + 1, 0, waiting)
    })
  }

  /** Applies the policy when the queue is full; the error is the newcomer's. */
  #makeRoom(): SchedError | undefined {
    const { full, maxQueued, concurrency, onAbort } = this.#options
    if (full === 'caller-runs' || this.#waiting.length < maxQueued) return undefined
    const error = new SchedError('SCHED_WORKERS_BUSY', `all ${concurrency} workers are busy and ${maxQueued} more wait: this instance stands aside.`, { remedy: 'Raise concurrency, add instances, or choose full: \'caller-runs\'.' })
    if (full === 'abort') onAbort(error)
    if (full !== 'discard-oldest' || maxQueued === 0) return error
    const oldest = this.#waiting.reduce((first, waiting) => (waiting.order < first.order ? waiting : first))
    this.#waiting.splice(this.#waiting.indexOf(oldest), 1)
    oldest.refuse(error)
    return undefined
  }

  #take(): () => void {
    this.#busy += 1
    let held = true
    return () => {
      if (!held) return
      held = false
      this.#busy -= 1
      this.#waiting.shift()?.grant()
    }
  }
}
