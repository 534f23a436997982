/** A stretch of time during which a zone keeps one offset from UTC: instants from `startAt` up to, not including, `endAt`. */
export interface Stretch {
  readonly startAt: number
  readonly endAt: number
  /** Wall reading minus instant. */
  readonly offsetMs: number
}

const hourMs = 3_600_000
const chunkMs = 64 * 24 * hourMs
/** Jumps of one zone are at least 17 days apart since 1972; a pair of them inside one probe step would go unseen. */
const probeMs = 12 * hourMs
const chunksKept = 512

/**
 * The offsets of a zone, asked of Intl in chunks of 64 days and kept. A stretch may end at the border of a chunk with the next one having the same offset.
 */
export class ZoneOffsets {
  readonly #format: Intl.DateTimeFormat | null
  readonly #chunks = new Map<number, readonly Stretch[]>()
  #current: Stretch

  constructor(timeZone: string) {
    this.#format = timeZone === 'UTC' ? null : new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    this.#current = this.#format === null ? { startAt: -Infinity, endAt: Infinity, offsetMs: 0 } : this.#chunk(0)[0]!
  }

  stretchAt(instant: number): Stretch {
    if (instant >= this.#current.startAt && instant < this.#current.endAt) return this.#current
    const stretch = this.#chunk(Math.floor(instant / chunkMs)).find(({ endAt }) => instant < endAt)!
    this.#current = stretch
    return stretch
  }

  #chunk(index: number): readonly Stretch[] {
    const kept = this.#chunks.get(index)
    if (kept !== undefined) return kept
    if (this.#chunks.size >= chunksKept) this.#chunks.clear()
    const stretches = this.#probe(index * chunkMs, (index + 1) * chunkMs)
    this.#chunks.set(index, stretches)
    return stretches
  }

  #probe(from: number, until: number): Stretch[] {
    const stretches: Stretch[] = []
    let startAt = from, offsetMs = this.#offsetAt(from)
    for (let low = from; low < until - probeMs; low += probeMs) {
      const changed = this.#offsetAt(low + probeMs)
      if (changed === offsetMs) continue
      const endAt = this.#jumpBetween(low, low + probeMs, offsetMs)
      stretches.push({ startAt, endAt, offsetMs })
      startAt = endAt
      offsetMs = changed
    }
    // The last step belongs to this chunk too: a jump in it lies before the next chunk's first probe.
    const last = until - probeMs
    const beyond = this.#offsetAt(until)
    const endAt = beyond === offsetMs ? until : this.#jumpBetween(last, until, offsetMs)
    stretches.push({ startAt, endAt, offsetMs })
    if (endAt < until) stretches.push({ startAt: endAt, endAt: until, offsetMs: beyond })
    return stretches
  }

  /** The first instant, to the second, whose offset differs from that of `low`. */
  #jumpBetween(low: number, high: number, offsetMs: number): number {
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000
      if (this.#offsetAt(middle) === offsetMs) low = middle
      else high = middle
    }
    return high
  }

  #offsetAt(instant: number): number {
    // "11/1/2026, GMT-04:00"; zero is a plain "GMT", and offsets of before 1972 have seconds
    const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(this.#format!.format(instant))
    if (match?.[1] === undefined) return 0
    const seconds = Number(match[2]) * 3600 + Number(match[3]) * 60 + Number(match[4] ?? 0)
    return (match[1] === '-' ? -seconds : seconds) * 1000
  }
}

const zones = new Map<string, ZoneOffsets>()

/** The offsets of a zone that `resolveTimeZone` has accepted; one table per zone and process. */
export function zoneOffsets(timeZone: string): ZoneOffsets {
  let zone = zones.get(timeZone)
  if (zone === undefined) zones.set(timeZone, zone = new ZoneOffsets(timeZone))
  return zone
}
