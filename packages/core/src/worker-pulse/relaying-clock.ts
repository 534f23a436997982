import { DatabaseClock, type ClockSample } from '../executor/database-clock.ts'
import type { Clock } from '../time/clock.ts'
import type { Notice } from './protocol.ts'

/** The database's clock as the thread reads it, told to the main thread in the same order. Both count from the same origin. */
export class RelayingClock extends DatabaseClock {
  readonly #tell: (notice: Notice) => void

  constructor(clock: Clock, tell: (notice: Notice) => void) {
    super(clock)
    this.#tell = tell
  }

  override add({ sentAt, receivedAt, dbNow }: ClockSample): void {
    const sample = { sentAt, receivedAt, dbNow }
    super.add(sample)
    this.#tell({ kind: 'sample', sample })
  }

  override reset(): void {
    super.reset()
    this.#tell({ kind: 'clock-reset' })
  }
}
