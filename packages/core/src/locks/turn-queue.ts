import type { Clock } from '../time/clock.ts'
import { withDeadline } from '../time/wait.ts'

/** Who goes first: what keeps locks alive, then what gives them back, then everything else. */
export type Urgency = 'renewal' | 'release' | 'other'

const order: readonly Urgency[] = ['renewal', 'release', 'other']

export interface TurnLimits {
  clock: Clock
  urgency: Urgency
  /** The longest wait for the turn; the work has limits of its own. */
  deadlineMs: number
  onDeadline: () => Error
  signal?: AbortSignal | undefined
}

/**
 * One at a time, the most urgent first, else in order of arrival: a thousand tries that were asked for at once must delay neither a
 * heartbeat nor a release, and a statement's limit must not be eaten by the queue before it.
 */
export class TurnQueue {
  readonly #waiting: Record<Urgency, (() => void)[]> = { renewal: [], release: [], other: [] }
  #busy = false

  /** Runs `work` when its turn comes. @throws what `work` rejects with; `onDeadline`'s error or the abort's when it never began */
  async run<T>(work: () => Promise<T>, limits: TurnLimits): Promise<T> {
    await this.#turn(limits)
    try {
      return await work()
    } finally {
      this.#next()
    }
  }

  async #turn({ clock, urgency, deadlineMs, onDeadline, signal }: TurnLimits): Promise<void> {
    if (!this.#busy) { this.#busy = true; return }
    const queue = this.#waiting[urgency]
    const { promise, resolve } = Promise.withResolvers<void>()
    queue.push(resolve)
    await withDeadline(clock, promise, {
      deadlineMs, signal, onDeadline,
      onAbandon: () => {
        const place = queue.indexOf(resolve)
        if (place >= 0) queue.splice(place, 1)
        // The turn came in the very moment it was given up.
        else this.#next()
      },
    })
  }

  #next(): void {
    for (const urgency of order) {
      const turn = this.#waiting[urgency].shift()
      if (turn !== undefined) { turn(); return }
    }
    this.#busy = false
  }
}
