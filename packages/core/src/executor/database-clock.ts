import type { Clock } from '../time/clock.ts'

/** One reading of the database's clock between two of ours (monotonic). */
export interface ClockSample { readonly sentAt: number; readonly receivedAt: number; readonly dbNow: number }

const keptSamples = 8
const jumpMs = 250

/**
 * The database's clock as this node knows it: the offset of the sample with the shortest round trip among the recent ones, on top of
 * the monotonic clock. The host's wall clock is only compared with itself, to notice a suspended host or a clock that was set.
 */
export class DatabaseClock {
  readonly #clock: Clock
  #samples: ClockSample[] = []
  #wallMinusMonotonic = 0

  constructor(clock: Clock) { this.#clock = clock }

  add(sample: ClockSample): void {
    this.#samples = [...this.#samples.slice(1 - keptSamples), sample]
    this.#wallMinusMonotonic = this.#clock.wallMs() - this.#clock.monotonicMs()
  }

  /** Forgets what it knew: the database's clock jumped. */
  reset(): void { this.#samples = [] }

  /** Epoch milliseconds by the database's clock. Never earlier than the truth by more than half the shortest round trip. */
  nowMs(): number { return this.#clock.monotonicMs() + this.#offset() }

  /** How far the database's clock is ahead of this host's wall clock. */
  offsetMs(): number { return this.nowMs() - this.#clock.wallMs() }

  /** Half the shortest round trip: how wrong `nowMs` may be. */
  uncertaintyMs(): number { return this.#best().receivedAt / 2 - this.#best().sentAt / 2 }

  /** How far a reading departs from the prediction, beyond what its own round trip explains; 0 before the first one. */
  departureMs(sample: ClockSample): number {
    if (this.#samples.length === 0) return 0
    return Math.max(0, Math.abs(offsetOf(sample) - this.#offset()) - (sample.receivedAt - sample.sentAt) / 2)
  }

  /** The host slept or its clock was set: the monotonic clock may have stood still, so a new sample is needed before firing. */
  get suspicious(): boolean {
    return Math.abs(this.#clock.wallMs() - this.#clock.monotonicMs() - this.#wallMinusMonotonic) > jumpMs
  }

  #offset(): number { return offsetOf(this.#best()) }

  #best(): ClockSample {
    const [first, ...rest] = this.#samples
    if (first === undefined) throw new RangeError('the database clock has not been read yet')
    return rest.reduce((best, sample) => (sample.receivedAt - sample.sentAt < best.receivedAt - best.sentAt ? sample : best), first)
  }
}

function offsetOf({ sentAt, receivedAt, dbNow }: ClockSample): number { return dbNow - (sentAt + receivedAt) / 2 }
