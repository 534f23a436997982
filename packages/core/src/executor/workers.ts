import { abortError } from '../time/wait.ts'

interface Waiting { readonly priority: number; readonly order: number; readonly grant: () => void }

/**
 * The local workers. A claim waits here *before* it competes for a slot, so that a busy node loses the race to an idle one and
 * nothing that was claimed is ever queued. Higher priority first, then first come.
 */
export class Workers {
  readonly #concurrency: number
  #busy = 0
  #order = 0
  readonly #waiting: Waiting[] = []

  constructor(concurrency: number) { this.#concurrency = concurrency }

  get busy(): number { return this.#busy }

  get waiting(): number { return this.#waiting.length }

  /** Resolves with the way to give the worker back (idempotent). Rejects when the signal aborts first. */
  acquire(priority: number, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(abortError(signal))
    if (this.#busy < this.#concurrency) return Promise.resolve(this.#take())
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        priority, order: this.#order += 1,
        grant: () => { signal.removeEventListener('abort', onAbort); resolve(this.#take()) },
      }
      const onAbort = (): void => { this.#waiting.splice(this.#waiting.indexOf(waiting), 1); reject(abortError(signal)) }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(waiting)
      this.#waiting.sort((a, b) => b.priority - a.priority || a.order - b.order)
    })
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
