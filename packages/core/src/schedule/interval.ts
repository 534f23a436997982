import { SchedError } from '../errors.ts'

/** The shortest interval: the ledger's fire times are whole seconds apart or more. */
export const shortestIntervalMs = 1000

/** Fire times at the multiples of an interval since 1970-01-01T00:00:00Z, so that all nodes agree without talking. */
export class Interval {
  readonly #everyMs: number

  /** @param everyMs - milliseconds, a whole number of 1000 or more */
  constructor(everyMs: number) {
    if (!Number.isSafeInteger(everyMs) || everyMs < shortestIntervalMs) {
      throw new SchedError('SCHED_OPTION_INVALID', `everyMs is ${String(everyMs)}, expected a whole number of milliseconds, ${shortestIntervalMs} or more.`, {
        remedy: 'For anything faster than once a second run a loop inside one task.', details: { option: 'everyMs', found: String(everyMs) },
      })
    }
    this.#everyMs = everyMs
  }

  next(afterMs: number): number {
    return (Math.floor(afterMs / this.#everyMs) + 1) * this.#everyMs
  }

  previous(atMs: number): number {
    return Math.floor(atMs / this.#everyMs) * this.#everyMs
  }
}
