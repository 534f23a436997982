import { isSchedError } from '../errors.ts'
import { transient, type ErrorClass } from '../spi/error-class.ts'
import type { Clock } from '../time/clock.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import { sleep } from '../time/wait.ts'
import { errorClassOf } from './classified-error.ts'

export interface RetryLimits {
  clock: Clock
  random: () => number
  /** No new try begins after this long; the last error is thrown. */
  deadlineMs: number
  signal?: AbortSignal | undefined
  /** A class that is an answer to this caller, not a fault to be tried again. */
  except?: ErrorClass | undefined
  /** What is worth another try. Default: contention, deadlock, serialization. */
  worth?: ((error: unknown) => boolean) | undefined
}

const patienceMs = 15_000
const firstPauseMs = 2
const longestPauseMs = 100

/**
 * For the steps of a start, all of which may be repeated: nothing presses yet, and many instances may boot on a busy database at once.
 * Everything that a later try may not meet again is tried again.
 */
export function retryPatiently<T>(work: () => Promise<T>, limits: Omit<RetryLimits, 'except' | 'worth' | 'deadlineMs'>): Promise<T> {
  return retryTransient(work, { ...limits, deadlineMs: patienceMs, worth: (error) => isSchedError(error) && error.retryable })
}

/** Repeats `work` while it fails with contention, deadlock or serialization, with growing jittered pauses, within the deadline. */
export async function retryTransient<T>(work: () => Promise<T>, limits: RetryLimits): Promise<T> {
  const watch = startStopwatch(limits.clock)
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await work()
    } catch (error) {
      const errorClass = errorClassOf(error)
      const worth = limits.worth?.(error) ?? (errorClass !== undefined && transient.has(errorClass) && errorClass !== limits.except)
      const waitMs = pauseMs * (0.5 + limits.random())
      if (!worth || watch.elapsedMs() + waitMs > limits.deadlineMs) throw error
      await sleep(limits.clock, waitMs, limits.signal)
    }
  }
}
