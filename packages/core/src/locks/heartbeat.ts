import { asError } from '../errors.ts'
import type { Clock, Timer } from '../time/clock.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import type { Backoff } from './backoff.ts'

export interface HeartbeatOptions {
  clock: Clock
  /** From the start of one beat to the start of the next. */
  everyMs: number
  /** Paces the tries after a beat that failed. */
  backoff: Backoff
  beat: () => Promise<void>
  /** Told of every beat that rejected. */
  failed: (error: Error) => void
}

/** Calls `beat` again and again, one at a time, until stopped. It keeps no process alive, and nothing escapes its timer. */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  #timer: Timer | undefined
  /** Raised by every start and stop, so that a beat in flight does not arm the next of a former life. */
  #life = 0
  #running = false

  constructor(options: HeartbeatOptions) { this.#options = options }

  start(): void {
    if (this.#running) return
    this.#running = true
    this.#life += 1
    this.#arm(this.#options.everyMs, this.#life)
  }

  stop(): void {
    this.#running = false
    this.#life += 1
    this.#timer?.cancel()
    this.#timer = undefined
  }

  #arm(delayMs: number, life: number): void {
    if (life !== this.#life) return
    this.#timer = this.#options.clock.setTimer(() => { void this.#beat(life) }, Math.max(0, delayMs), { unref: true })
  }

  async #beat(life: number): Promise<void> {
    const { clock, everyMs, backoff, beat, failed } = this.#options
    const began = startStopwatch(clock)
    try {
      await beat()
      backoff.reset()
      this.#arm(everyMs - began.elapsedMs(), life)
    } catch (thrown) {
      failed(asError(thrown))
      this.#arm(Math.min(everyMs, backoff.nextMs()), life)
    }
  }
}
