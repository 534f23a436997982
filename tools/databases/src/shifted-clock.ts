/** What to give `spawnNode` so that the child's `Date`, and only that, is off by this much. */
export function shiftedClock(shiftMs: number): { env: Record<string, string>, execArgv: string[] } {
  return {
    env: { SCHED_TEST_CLOCK_SHIFT_MS: String(shiftMs) },
    execArgv: ['--import', new URL('./shifted-clock.mjs', import.meta.url).href],
  }
}
