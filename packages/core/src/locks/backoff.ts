/** Delays that grow: each between half of the step and the whole of it, the step doubling from `firstMs` to `longestMs`. */
export interface Backoff {
  nextMs(): number
  reset(): void
}

/** @param random a number in [0, 1), so that waiting processes spread out */
export function createBackoff(random: () => number, firstMs: number, longestMs: number): Backoff {
  let stepMs = firstMs
  return {
    nextMs() {
      const delayMs = stepMs * (0.5 + random() / 2)
      stepMs = Math.min(longestMs, stepMs * 2)
      return delayMs
    },
    reset() { stepMs = firstMs },
  }
}
