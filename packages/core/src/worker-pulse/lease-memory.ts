import { SchedError, isSchedError } from '../errors.ts'
import type { Clock } from '../time/clock.ts'
import { fromWire, toWire, type WireError } from './wire-error.ts'

const bytes = 2048
const states = { good: 0, losing: 1, lost: 2 } as const
const stateAt = 0
const lengthAt = 1
const monotonicAt = 0
const wallAt = 1
const untilOffset = 8
const textOffset = 24
const microsPerMs = 1000
const longestMessage = 400
const longestWriteMs = 5

/**
 * What two threads know of one lease (a node's life, or a lock): until when it is good, and whether it is lost. A thread whose event
 * loop is blocked gets no message, but it reads this at every look (P5). A loss is final, whichever thread says it first.
 */
export class LeaseMemory {
  readonly buffer: SharedArrayBuffer
  readonly #state: Int32Array<SharedArrayBuffer>
  readonly #until: BigInt64Array<SharedArrayBuffer>
  readonly #text: Uint8Array<SharedArrayBuffer>

  /** A new one; or, with the buffer of another thread's, the same one. */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(bytes)) {
    this.buffer = buffer
    this.#state = new Int32Array(buffer, 0, 2)
    this.#until = new BigInt64Array(buffer, untilOffset, 2)
    this.#text = new Uint8Array(buffer, textOffset)
  }

  /**
   * Good for so much longer, by the clock of all threads and by the wall clock, for a suspended host. Between the two writes the
   * older moment counts: the lease is never believed good for longer than it is.
   */
  extend(clock: Clock, leftMs: number): void {
    Atomics.store(this.#until, monotonicAt, micros(clock.monotonicMs() + leftMs))
    Atomics.store(this.#until, wallAt, micros(clock.wallMs() + leftMs))
  }

  /** Milliseconds until it must be believed over. A wall clock that was set back lengthens nothing. */
  leftMs(clock: Clock): number {
    const monotonic = Number(Atomics.load(this.#until, monotonicAt)) / microsPerMs - clock.monotonicMs()
    const wall = Number(Atomics.load(this.#until, wallAt)) / microsPerMs - clock.wallMs()
    return Math.min(monotonic, wall)
  }

  /** Once: the first reason stays. */
  lose(reason: Error): void {
    if (Atomics.load(this.#state, stateAt) !== states.good) return
    const text = Buffer.from(JSON.stringify(short(reason)))
    if (Atomics.compareExchange(this.#state, stateAt, states.good, states.losing) !== states.good) return
    if (text.length <= this.#text.length) {
      this.#text.set(text)
      Atomics.store(this.#state, lengthAt, text.length)
    }
    Atomics.store(this.#state, stateAt, states.lost)
    Atomics.notify(this.#state, stateAt)
  }

  /** Why it is lost, or undefined while nobody has said so. */
  get lost(): SchedError | undefined {
    const state = Atomics.load(this.#state, stateAt)
    if (state === states.good) return undefined
    // The other thread is writing down why; it may end in the midst of it.
    if (state === states.losing) Atomics.wait(this.#state, stateAt, states.losing, longestWriteMs)
    const length = Atomics.load(this.#state, stateAt) === states.lost ? Atomics.load(this.#state, lengthAt) : 0
    if (length === 0) return new SchedError('SCHED_LEASE_LOST', 'the lease is over.')
    const told = fromWire(JSON.parse(Buffer.from(this.#text.slice(0, length)).toString()) as WireError)
    return isSchedError(told) ? told : new SchedError('SCHED_LEASE_LOST', told.message)
  }
}

function micros(ms: number): bigint { return BigInt(Math.floor(ms * microsPerMs)) }

/** What fits: the rest of the error comes by message. */
function short(reason: Error): WireError {
  const { name, message, sched } = toWire(reason, 0)
  return { name, message: message.slice(0, longestMessage), sched: sched === undefined ? undefined : { ...sched, details: {} } }
}
