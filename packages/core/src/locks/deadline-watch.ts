import type { Clock, Timer } from '../time/clock.ts'

/**
 * Looks when the earliest deadline may have passed, so that the abort event comes although nobody looks. Deadlines only move away:
 * a look that comes too early arms the next one. One timer, however many holdings.
 */
export class DeadlineWatch {
  readonly #clock: Clock
  /** Judges everything; answers the milliseconds until the next deadline, or undefined when there is none. */
  readonly #look: () => number | undefined
  #timer: Timer | undefined

  constructor(clock: Clock, look: () => number | undefined) {
    this.#clock = clock
    this.#look = look
  }

  /** There is something to watch, now or from now on. */
  arm(leftMs: number): void {
    this.#timer ??= this.#clock.setTimer(() => {
      this.#timer = undefined
      const nextMs = this.#look()
      if (nextMs !== undefined) this.arm(nextMs)
    }, Math.max(1, leftMs), { unref: true })
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }
}
