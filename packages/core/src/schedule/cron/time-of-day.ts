/** The seconds of a day on which an expression fires; moves in both directions without searching. */
export class TimeOfDay {
  readonly #hours: NumberSet
  readonly #minutes: NumberSet
  readonly #seconds: NumberSet
  readonly first: number
  readonly last: number

  constructor(hours: readonly number[], minutes: readonly number[], seconds: readonly number[]) {
    this.#hours = new NumberSet(hours, 24)
    this.#minutes = new NumberSet(minutes, 60)
    this.#seconds = new NumberSet(seconds, 60)
    this.first = secondOfDay(this.#hours.first, this.#minutes.first, this.#seconds.first)
    this.last = secondOfDay(this.#hours.last, this.#minutes.last, this.#seconds.last)
  }

  /** The first one at or after a second of the day, or -1. */
  atOrAfter(second: number): number {
    const [h, m, s] = split(second)
    if (this.#hours.has(h)) {
      if (this.#minutes.has(m)) {
        const sameMinute = this.#seconds.atOrAfter(s)
        if (sameMinute !== -1) return secondOfDay(h, m, sameMinute)
      }
      const minute = this.#minutes.atOrAfter(m + 1)
      if (minute !== -1) return secondOfDay(h, minute, this.#seconds.first)
    }
    const hour = this.#hours.atOrAfter(h + 1)
    return hour === -1 ? -1 : secondOfDay(hour, this.#minutes.first, this.#seconds.first)
  }

  /** The last one at or before a second of the day, or -1. */
  atOrBefore(second: number): number {
    const [h, m, s] = split(second)
    if (this.#hours.has(h)) {
      if (this.#minutes.has(m)) {
        const sameMinute = this.#seconds.atOrBefore(s)
        if (sameMinute !== -1) return secondOfDay(h, m, sameMinute)
      }
      const minute = m === 0 ? -1 : this.#minutes.atOrBefore(m - 1)
      if (minute !== -1) return secondOfDay(h, minute, this.#seconds.last)
    }
    const hour = h === 0 ? -1 : this.#hours.atOrBefore(h - 1)
    return hour === -1 ? -1 : secondOfDay(hour, this.#minutes.last, this.#seconds.last)
  }
}

/** A set of small numbers that knows each number's neighbours in the set. */
class NumberSet {
  readonly first: number
  readonly last: number
  readonly #up: Int8Array
  readonly #down: Int8Array

  constructor(values: readonly number[], size: number) {
    const members = new Set(values)
    this.#up = new Int8Array(size + 1).fill(-1)
    this.#down = new Int8Array(size + 1).fill(-1)
    for (let i = 0; i < size; i++) this.#down[i] = members.has(i) ? i : i === 0 ? -1 : this.#down[i - 1]!
    for (let i = size - 1; i >= 0; i--) this.#up[i] = members.has(i) ? i : this.#up[i + 1]!
    this.first = this.#up[0]!
    this.last = this.#down[size - 1]!
  }

  has(value: number): boolean {
    return this.#up[value] === value
  }

  atOrAfter(value: number): number {
    return this.#up[value]!
  }

  atOrBefore(value: number): number {
    return this.#down[value]!
  }
}

function secondOfDay(hour: number, minute: number, second: number): number {
  return hour * 3600 + minute * 60 + second
}

function split(second: number): [hour: number, minute: number, second: number] {
  const hour = Math.floor(second / 3600)
  const minute = Math.floor(second / 60) - hour * 60
  return [hour, minute, second - hour * 3600 - minute * 60]
}
