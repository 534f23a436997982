/** Where time enters. Durations are milliseconds. The executor and the locks read no other clock and start no other timer. */
export interface Clock {
  /** Never goes back; stands still while the host is suspended. Fractions allowed. */
  monotonicMs(): number
  /** The host's wall clock, only ever used to notice a suspended host: never compared with a stored time. */
  wallMs(): number
  /** Calls back once, not earlier than `delayMs` from now. An `unref` timer does not keep the process alive. */
  setTimer(callback: () => void, delayMs: number, options?: { unref?: boolean }): Timer
}

export interface Timer { cancel(): void }

// setTimeout counts in a signed 32-bit number of milliseconds; longer delays are made of several.
const longestTimeoutMs = 2 ** 31 - 1

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(callback, delayMs, options = {}) {
    const endsAt = performance.now() + delayMs
    let handle: NodeJS.Timeout
    const arm = (): void => {
      // A fraction fires early, and a timer may be early all the same: round up, look again.
      const leftMs = Math.min(longestTimeoutMs, Math.max(0, Math.ceil(endsAt - performance.now())))
      handle = setTimeout(() => { if (performance.now() >= endsAt) callback(); else arm() }, leftMs)
      if (options.unref === true) handle.unref()
    }
    arm()
    return { cancel: () => clearTimeout(handle) }
  },
}
