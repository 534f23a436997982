import type { Clock, Timer } from '../src/time/clock.ts'

interface Armed { readonly at: number; readonly order: number; readonly callback: () => void }

/** A clock that stands still until it is told to go. */
export interface ManualClock extends Clock {
  /** Goes on, timer by timer; what each timer starts is given the chance to go as far as it can before the next one. */
  advance(ms: number): Promise<void>
  /** Both clocks go on, but no timer fires until the next `advance`: a frozen process, a blocked event loop. */
  freeze(ms: number): void
  /** The wall clock alone goes on: a suspended host (or, backwards, a clock that was set). */
  shiftWall(ms: number): void
  /** Armed timers. */
  readonly timers: number
}

export function manualClock(): ManualClock {
  let nowMs = 1000
  let wallMs = 1_700_000_000_000
  let order = 0
  const armed = new Set<Armed>()
  const next = (until: number): Armed | undefined => {
    let first: Armed | undefined
    for (const timer of armed) {
      if (timer.at <= until && (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))) first = timer
    }
    return first
  }
  const go = (to: number): void => { if (to > nowMs) { wallMs += to - nowMs; nowMs = to } }
  return {
    monotonicMs: () => nowMs,
    wallMs: () => wallMs,
    setTimer(callback, delayMs): Timer {
      const timer: Armed = { at: nowMs + Math.max(0, delayMs), order: order += 1, callback }
      armed.add(timer)
      return { cancel: () => { armed.delete(timer) } }
    },
    async advance(ms) {
      const until = nowMs + ms
      await settle()
      for (let timer = next(until); timer !== undefined; timer = next(until)) {
        armed.delete(timer)
        go(timer.at)
        timer.callback()
        await settle()
      }
      go(until)
      await settle()
    },
    freeze(ms) { go(nowMs + ms) },
    shiftWall(ms) { wallMs += ms },
    get timers() { return armed.size },
  }
}

/** Lets everything that needs no timer happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => { setImmediate(resolve) })
}
