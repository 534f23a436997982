import type { Clock, Timer } from '../time/clock.ts'

interface Entry { readonly key: string; readonly at: number; readonly run: () => void; cancelled: boolean }

// A second in which thousands of tasks are due must not hold the event loop: heartbeats go on in between.
const chunk = 100

/**
 * What is due when, by the database's clock: one heap, one timer. An entry runs not before its time; a timer that fires early
 * re-arms. Setting a key again replaces its entry.
 */
export class Agenda {
  readonly #clock: Clock
  readonly #now: () => number
  readonly #heap: Entry[] = []
  readonly #byKey = new Map<string, Entry>()
  #timer: Timer | undefined
  #armedFor = Infinity
  #stopped = false

  constructor(clock: Clock, now: () => number) {
    this.#clock = clock
    this.#now = now
  }

  set(key: string, at: number, run: () => void): void {
    if (this.#stopped) return
    this.cancel(key)
    const entry: Entry = { key, at, run, cancelled: false }
    this.#byKey.set(key, entry)
    this.#push(entry)
    this.#arm()
  }

  /** Sets the key unless an earlier entry of it is there. */
  setEarliest(key: string, at: number, run: () => void): void {
    const known = this.#byKey.get(key)
    if (known === undefined || at < known.at) this.set(key, at, run)
  }

  cancel(key: string): void {
    const entry = this.#byKey.get(key)
    if (entry === undefined) return
    entry.cancelled = true
    this.#byKey.delete(key)
  }

  /** The clock was corrected: look again. */
  recheck(): void {
    this.#armedFor = Infinity
    this.#arm()
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#heap.length = 0
    this.#byKey.clear()
  }

  #arm(): void {
    while (this.#heap[0]?.cancelled === true) this.#pop()
    const next = this.#heap[0]
    if (next === undefined || this.#stopped || next.at >= this.#armedFor) return
    this.#timer?.cancel()
    this.#armedFor = next.at
    // Server times are cut to milliseconds: one more, so that the database agrees that it is due.
    this.#timer = this.#clock.setTimer(() => this.#ring(), Math.max(0, Math.ceil(next.at - this.#now()) + 1))
  }

  #ring(): void {
    this.#armedFor = Infinity
    for (let count = 0; count < chunk; count += 1) {
      const next = this.#heap[0]
      if (next === undefined || (!next.cancelled && next.at > this.#now())) break
      this.#pop()
      if (next.cancelled) continue
      this.#byKey.delete(next.key)
      next.run()
    }
    this.#arm()
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    heap.push(entry)
    let child = heap.length - 1
    while (child > 0) {
      const parent = (child - 1) >> 1
      if ((heap[parent] as Entry).at <= entry.at) break
      heap[child] = heap[parent] as Entry
      child = parent
    }
    heap[child] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let parent = 0
    for (;;) {
      let child = 2 * parent + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && (heap[child + 1] as Entry).at < (heap[child] as Entry).at) child += 1
      if ((heap[child] as Entry).at >= last.at) break
      heap[parent] = heap[child] as Entry
      parent = child
    }
    heap[parent] = last
  }
}
