import type { Clock, Timer } from '../../time/clock.ts'
import { Timeline, type Appointment } from './timeline.ts'

export interface ManualClockOptions {
  /** What the wall clock shows at first: epoch milliseconds, a Date, or a text that Date reads. Default 2030-01-01T00:00:00Z. */
  readonly startAt?: number | string | Date
  /** How far the wall clock is ahead of the world's time. Default 0. */
  readonly skewMs?: number
  /** How much faster it goes than the world's time, in millionths. Default 0. */
  readonly driftPpm?: number
}

/** A timer that has not rung, by the clock's own time. */
export interface PendingTimer { readonly dueInMs: number; readonly unref: boolean }

/**
 * The clock of one process, driven by hand. Several clocks may share one timeline: then `advance` of any of them moves them all.
 * The process may also stand still (`freeze`) or be over (`halt`): its timers, and what comes to it from outside, wait or are dropped.
 */
export interface ManualClock extends Clock {
  /** The time that no process can change: what a database on another host goes by. */
  readonly timeline: Timeline
  /** Epoch milliseconds of the world's time: `startAt`, and what has gone by since. */
  worldMs(): number
  /** Goes on, timer by timer; what each of them starts goes as far as it can before the next one. */
  advance(ms: number): Promise<void>
  /** Goes on until `work` has settled. @throws Error when it has not after `withinMs` (default one hour) */
  until<T>(work: Promise<T>, withinMs?: number): Promise<T>
  /** Somebody sets the wall clock, forward or back. Timers do not notice. */
  jumpWall(ms: number): void
  /** The host sleeps for `ms`: the monotonic clock stands still, the wall clock and the rest of the world go on. */
  suspend(ms: number): Promise<void>
  /** The two ends of `suspend`, for a world in which other processes go on meanwhile. */
  fallAsleep(): void
  wakeUp(): void
  /** As SIGSTOP: nothing of this process happens, while both its clocks go on. */
  freeze(): void
  /** As SIGCONT: what was held back happens in the next step; timers first, or what came from outside first. */
  thaw(first?: 'timers' | 'outside'): void
  readonly frozen: boolean
  /** As SIGKILL: nothing of this process ever happens again. */
  halt(): void
  readonly halted: boolean
  /** Timers that have not rung, soonest first. */
  readonly timers: readonly PendingTimer[]
  /** Something comes from outside (a reply): happens now, after the thaw, or never. */
  deliver(happen: () => void): void
  /** The clock of another process in the same world. */
  sibling(options?: Omit<ManualClockOptions, 'startAt'>): ManualClock
}

const defaultStart = Date.UTC(2030, 0, 1)
const hourMs = 3_600_000
// Not 0: nobody may take a monotonic reading for a duration.
const firstMonotonicMs = 1000

/** A clock that stands still until it is told to go. */
export function manualClock(options: ManualClockOptions = {}): ManualClock {
  const { startAt = defaultStart } = options
  const worldStart = typeof startAt === 'number' ? startAt : new Date(startAt).getTime()
  if (!Number.isFinite(worldStart)) throw new RangeError(`startAt is no instant: ${String(startAt)}`)
  return new ProcessClock(new Timeline(), worldStart, options)
}

interface Armed { readonly dueAt: number; readonly order: number; readonly unref: boolean; readonly ring: () => void }

class ProcessClock implements ManualClock {
  readonly timeline: Timeline
  readonly #worldStart: number
  readonly #skewMs: number
  readonly #rate: number
  readonly #born: number
  readonly #timers = new Set<Armed>()
  readonly #outside: (() => void)[] = []
  #jumpedMs = 0
  #sleptMs = 0
  #asleepSince: number | undefined
  #state: 'running' | 'frozen' | 'halted' = 'running'
  #wake: Appointment | undefined
  #wakeAt = Infinity
  #order = 0
  /** Since a thaw: overdue timers ring before what came from outside. */
  #timersFirst = false

  constructor(timeline: Timeline, worldStart: number, { skewMs = 0, driftPpm = 0 }: ManualClockOptions) {
    this.timeline = timeline
    this.#worldStart = worldStart
    this.#born = timeline.nowMs
    this.#skewMs = skewMs
    this.#rate = 1 + driftPpm / 1e6
  }

  get frozen(): boolean { return this.#state === 'frozen' }
  get halted(): boolean { return this.#state === 'halted' }

  get timers(): readonly PendingTimer[] {
    const now = this.monotonicMs()
    return [...this.#timers].sort(sooner).map(({ dueAt, unref }) => ({ dueInMs: Math.max(0, dueAt - now), unref }))
  }

  monotonicMs(): number { return firstMonotonicMs + this.#awakeMs() * this.#rate }

  wallMs(): number { return this.#worldStart + this.#born + this.#skewMs + this.#jumpedMs + (this.timeline.nowMs - this.#born) * this.#rate }

  worldMs(): number { return this.#worldStart + this.timeline.nowMs }

  setTimer(callback: () => void, delayMs: number, options: { unref?: boolean } = {}): Timer {
    const timer: Armed = { dueAt: this.monotonicMs() + Math.max(0, delayMs), order: this.#order += 1, unref: options.unref === true, ring: callback }
    this.#timers.add(timer)
    this.#arm()
    return { cancel: () => { this.#timers.delete(timer) } }
  }

  advance(ms: number): Promise<void> { return this.timeline.advance(ms) }

  until<T>(work: Promise<T>, withinMs: number = hourMs): Promise<T> { return this.timeline.until(work, withinMs) }

  jumpWall(ms: number): void { this.#jumpedMs += ms }

  async suspend(ms: number): Promise<void> {
    this.fallAsleep()
    await this.timeline.advance(ms)
    this.wakeUp()
    await this.timeline.advance(0)
  }

  fallAsleep(): void {
    this.#asleepSince ??= this.timeline.nowMs
    this.#disarm()
  }

  wakeUp(): void {
    if (this.#asleepSince === undefined) return
    this.#sleptMs += this.timeline.nowMs - this.#asleepSince
    this.#asleepSince = undefined
    this.#catchUp('timers')
  }

  freeze(): void {
    if (this.#state !== 'running') return
    this.#state = 'frozen'
    this.#disarm()
  }

  thaw(first: 'timers' | 'outside' = 'timers'): void {
    if (this.#state !== 'frozen') return
    this.#state = 'running'
    this.#catchUp(first)
  }

  halt(): void {
    this.#state = 'halted'
    this.#disarm()
    this.#timers.clear()
    this.#outside.length = 0
  }

  deliver(happen: () => void): void {
    if (this.#state === 'halted') return
    if (!this.#stands && this.#outside.length === 0) return happen()
    // What is held back already comes first.
    this.#outside.push(happen)
    if (!this.#stands && !this.#timersFirst) this.#takeIn()
  }

  sibling(options: Omit<ManualClockOptions, 'startAt'> = {}): ManualClock { return new ProcessClock(this.timeline, this.#worldStart, options) }

  get #stands(): boolean { return this.#state !== 'running' || this.#asleepSince !== undefined }

  /** Milliseconds of the world in which the host was awake. */
  #awakeMs(): number { return (this.#asleepSince ?? this.timeline.nowMs) - this.#born - this.#sleptMs }

  #catchUp(first: 'timers' | 'outside'): void {
    if (this.#stands) return
    this.#timersFirst = first === 'timers'
    if (first === 'outside') this.#outside.forEach(() => { this.#takeIn() })
    this.#arm()
  }

  /** One of the things that came from outside meanwhile, in a step of its own. */
  #takeIn(): void {
    this.timeline.at(this.timeline.nowMs, () => { if (!this.#stands) this.#outside.shift()?.() })
  }

  /** One appointment with the timeline, for the timer that is due first. */
  #arm(): void {
    if (this.#stands) return
    const next = this.#soonest()
    if (this.#timersFirst && !(next !== undefined && next.dueAt <= this.monotonicMs())) {
      this.#timersFirst = false
      this.#outside.forEach(() => { this.#takeIn() })
    }
    if (next === undefined) return this.#disarm()
    // The last bits of a fraction must not make a timer late for ever.
    const at = this.timeline.nowMs + Math.max(0, (next.dueAt - this.monotonicMs()) / this.#rate)
    if (this.#wake !== undefined && at === this.#wakeAt) return
    this.#disarm()
    this.#wakeAt = at
    this.#wake = this.timeline.at(at, () => { this.#wake = undefined; this.#ring(next) })
  }

  #ring(expected: Armed): void {
    const next = this.#soonest()
    if (this.#stands) return
    if (next === expected) {
      this.#timers.delete(next)
      next.ring()
    }
    this.#arm()
  }

  #soonest(): Armed | undefined {
    let soonest: Armed | undefined
    for (const timer of this.#timers) if (soonest === undefined || sooner(timer, soonest) < 0) soonest = timer
    return soonest
  }

  #disarm(): void {
    this.#wake?.cancel()
    this.#wake = undefined
    this.#wakeAt = Infinity
  }
}

function sooner(a: Armed, b: Armed): number { return a.dueAt - b.dueAt || a.order - b.order }
