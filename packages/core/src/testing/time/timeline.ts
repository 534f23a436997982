import { settle } from './settle.ts'

/** Something that happens at a moment of a timeline. */
export interface Appointment { cancel(): void }

interface Entry { readonly at: number; readonly order: number; readonly happen: () => void; cancelled: boolean }

/**
 * The time of a small world, which goes on only when it is told to. Clocks, wires and servers put what they wait for on it; it happens
 * one by one, in the order of time and then of arrival, and after each everything that needs no time is let happen.
 */
export class Timeline {
  readonly #heap: Entry[] = []
  #nowMs = 0
  #order = 0
  #going = false

  /** Milliseconds since the world began. */
  get nowMs(): number { return this.#nowMs }

  /** `happen` is called when the timeline gets there: at once in the next step when `at` is past. */
  at(at: number, happen: () => void): Appointment {
    const entry: Entry = { at: Math.max(at, this.#nowMs), order: this.#order += 1, happen, cancelled: false }
    this.#push(entry)
    return { cancel: () => { entry.cancelled = true } }
  }

  /** Goes on by `ms`. One call at a time. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`a timeline goes forward by 0 ms or more, not by ${ms}`)
    const until = this.#nowMs + ms
    await this.#alone(async () => {
      await settle()
      while (this.#next(until)) await settle(1)
      this.#nowMs = until
      await settle()
    })
  }

  /**
   * Goes on until `work` has settled, step by step, and answers as it does.
   * @throws Error when it has not after `withinMs`
   */
  async until<T>(work: Promise<T>, withinMs: number): Promise<T> {
    const limit = this.#nowMs + withinMs
    let settled = false
    const watched = work.finally(() => { settled = true })
    // Whoever awaits `work` hears of a rejection below; the loop must not make it an unhandled one meanwhile.
    watched.catch(() => undefined)
    await this.#alone(async () => {
      await settle()
      while (!settled && this.#next(limit)) await settle(1)
      if (!settled) {
        this.#nowMs = limit
        await settle()
      }
    })
    if (!settled) throw new Error(`what was waited for did not happen within ${withinMs} ms of the timeline`)
    return watched
  }

  /** Makes the next thing happen, unless it lies behind `until`. */
  #next(until: number): boolean {
    for (;;) {
      const next = this.#heap[0]
      if (next === undefined || (next.at > until && !next.cancelled)) return false
      this.#pop()
      if (next.cancelled) continue
      this.#nowMs = Math.max(this.#nowMs, next.at)
      next.happen()
      return true
    }
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    if (this.#going) throw new Error('the timeline is going on already: await one advance before the next')
    this.#going = true
    try {
      await work()
    } finally {
      this.#going = false
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let hole = heap.push(entry) - 1
    for (let parent = (hole - 1) >> 1; hole > 0 && before(entry, heap[parent] as Entry); hole = parent, parent = (hole - 1) >> 1) heap[hole] = heap[parent] as Entry
    heap[hole] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const moved = heap.pop()
    if (moved === undefined || heap.length === 0) return
    let hole = 0
    for (;;) {
      let child = 2 * hole + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1] as Entry, heap[child] as Entry)) child += 1
      if (!before(heap[child] as Entry, moved)) break
      heap[hole] = heap[child] as Entry
      hole = child
    }
    heap[hole] = moved
  }
}

function before(a: Entry, b: Entry): boolean { return a.at < b.at || (a.at === b.at && a.order < b.order) }
