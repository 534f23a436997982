import type { Clock } from './clock.ts'

/** How long ago a request was sent: the reading that leases are judged by. */
export interface Stopwatch { elapsedMs(): number }

/**
 * Counts the larger of monotonic and wall time. The monotonic clock stands still while Linux is suspended, so a laptop that
 * slept for an hour would still believe in its lease; a wall clock set back must not lengthen one.
 */
export function startStopwatch(clock: Clock): Stopwatch {
  const monotonic = clock.monotonicMs()
  const wall = clock.wallMs()
  return { elapsedMs: () => Math.max(clock.monotonicMs() - monotonic, clock.wallMs() - wall) }
}
