import { setImmediate as nextTurn } from 'node:timers/promises'
import { SchedError } from '../errors.ts'
import type { TaskDefinition } from '../executor/task-definition.ts'
import type { Clock } from '../time/clock.ts'

/** `abortGraceMs`: how long an attempt may go on after its timeout. */
export interface LivenessOptions { readonly clock: Clock; readonly leaseMs: number; readonly abortGraceMs: number }

const microsPerMs = 1000
const longestMicros = Number.MAX_SAFE_INTEGER
const untilAt = 0
const turnsAt = 1

/**
 * Until when the other thread may renew this one's lease unasked: the smallest deadline of what runs, or one lease when nothing does.
 * Written whenever the event loop turns; a loop that does not turn past it is hung, and its lease ends (P6).
 */
export class Liveness {
  readonly buffer: SharedArrayBuffer = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)
  readonly #memory = new BigInt64Array(this.buffer)
  readonly #options: LivenessOptions
  readonly #deadlines = new Set<{ readonly at: number }>()

  constructor(options: LivenessOptions) {
    this.#options = options
    this.turned()
  }

  /** The event loop turns: what ran past its deadline is the timeout's business, not a hung loop. */
  turned(): void {
    const now = this.#options.clock.monotonicMs()
    const ahead = [...this.#deadlines].map(({ at }) => at).filter((at) => at > now)
    const until = ahead.length === 0 ? now + this.#options.leaseMs : Math.min(...ahead)
    Atomics.add(this.#memory, turnsAt, 1n)
    Atomics.store(this.#memory, untilAt, BigInt(Math.floor(Math.min(until * microsPerMs, longestMicros))))
  }

  /** The same definition, its handler's deadline written down before the handler's first statement runs. */
  watched<TClient>(definition: TaskDefinition<TClient>): TaskDefinition<TClient> {
    const { clock, abortGraceMs } = this.#options
    return {
      ...definition,
      handler: async (context) => {
        // In a turn of the loop of its own: a handler that blocks in the midst of another transaction of this thread would, on SQLite,
        // keep the heartbeat out with it. The wait is one more chance for the lease to end.
        await nextTurn()
        context.signal.throwIfAborted()
        const deadline = { at: clock.monotonicMs() + definition.timeoutMs + abortGraceMs }
        this.#deadlines.add(deadline)
        this.turned()
        try {
          return await definition.handler(context)
        } finally {
          this.#deadlines.delete(deadline)
          this.turned()
        }
      },
    }
  }
}

export interface LivenessWatchOptions {
  readonly clock: Clock
  readonly heartbeatMs: number
  /** Asks the watched thread to say that it turns. */
  readonly ask: () => void
}

/** The other side: whether the watched thread's event loop still turns. To be looked at before every heartbeat. */
export class LivenessWatch {
  readonly #memory: BigInt64Array<SharedArrayBuffer>
  readonly #options: LivenessWatchOptions
  #askedAt: number | undefined

  constructor(buffer: SharedArrayBuffer, options: LivenessWatchOptions) {
    this.#memory = new BigInt64Array(buffer)
    this.#options = options
  }

  /** Another number whenever the watched thread has turned. */
  get turns(): bigint { return Atomics.load(this.#memory, turnsAt) }

  /** Why the watched thread must not be kept alive: it had a heartbeat's time to answer, after its deadline. */
  hung(): SchedError | undefined {
    const { clock, heartbeatMs, ask } = this.#options
    const now = clock.monotonicMs()
    const overdueMs = now - Number(Atomics.load(this.#memory, untilAt)) / microsPerMs
    if (overdueMs <= 0) {
      this.#askedAt = undefined
      return undefined
    }
    if (this.#askedAt === undefined) {
      this.#askedAt = now
      ask()
      return undefined
    }
    if (now - this.#askedAt < heartbeatMs) return undefined
    return new SchedError('SCHED_LEASE_LOST', `the event loop has not turned for ${Math.round(overdueMs)} ms past the deadline of what it runs: it is not kept alive.`, {
      remedy: 'A handler holds the event loop: let it await in between, or do the work in a thread of its own.',
    })
  }
}
