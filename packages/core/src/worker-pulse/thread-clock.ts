import { systemClock, type Clock } from '../time/clock.ts'

const nanosPerMs = 1e6

/**
 * The system's clock with an origin that all threads of the process share. `performance.now()` counts from the start of its own
 * thread, so a moment that one thread wrote down would mean another one to its neighbour.
 */
export const threadClock: Clock = { ...systemClock, monotonicMs: () => Number(process.hrtime.bigint()) / nanosPerMs }
