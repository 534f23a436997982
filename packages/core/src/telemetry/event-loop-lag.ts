/** How late the event loop turned, since the heartbeat before. Milliseconds. */
export interface EventLoopLag { readonly meanMs: number; readonly p99Ms: number; readonly maxMs: number }

// Ten looks a second: 0.1 % of a core while idle, and precise enough beside a lease of at least a second.
const everyMs = 100
// A heartbeat every few minutes must not make the list long.
const mostSamples = 10_000

/**
 * Samples how late a timer fires. Not `monitorEventLoopDelay`: what that has not seen the end of, it forgets when it is reset, and a
 * heartbeat is often the first thing to run after a block. Here a block counts from the moment it is looked at.
 */
export class EventLoopWatch {
  #timer: NodeJS.Timeout | undefined
  #lastAt = 0
  #samples: number[] = []

  /** Begins. Does not keep the process alive. */
  start(): void {
    this.#lastAt = performance.now()
    this.#timer ??= setInterval(() => { this.#look() }, everyMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** The longest delay since the last `take`, one that has only just ended included. */
  get longestMs(): number { return this.#samples.reduce((longest, sample) => Math.max(longest, sample), this.#pendingMs) }

  /** The reading since the last one; zeros while it is not running. */
  take(): EventLoopLag {
    if (this.#timer === undefined) return { meanMs: 0, p99Ms: 0, maxMs: 0 }
    this.#look()
    const sorted = this.#samples.sort((a, b) => a - b)
    this.#samples = []
    return {
      meanMs: sorted.reduce((sum, sample) => sum + sample, 0) / sorted.length,
      p99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] as number,
      maxMs: sorted.at(-1) as number,
    }
  }

  get #pendingMs(): number { return this.#timer === undefined ? 0 : Math.max(0, performance.now() - this.#lastAt - everyMs) }

  #look(): void {
    if (this.#samples.length < mostSamples) this.#samples.push(this.#pendingMs)
    this.#lastAt = performance.now()
  }
}
