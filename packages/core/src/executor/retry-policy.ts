import { SchedError } from '../errors.ts'

/** What happens after an attempt that threw. Default: no retry. */
export interface RetryOptions {
  /** Further attempts after the first. */
  max: number
  /** Pause before the first retry, in milliseconds. */
  backoffMs: number
  /** `fixed` (default): always `backoffMs`. `exponential`: doubled each time. */
  backoff?: 'fixed' | 'exponential'
  /** Longest pause of `exponential`. Default 1 h. */
  maxBackoffMs?: number
  /** Which errors are worth another attempt. Default: all. */
  retryable?: (error: unknown) => boolean
}

export interface RetryPolicy { readonly max: number; delayMs(attempt: number, random: () => number): number; retryable(error: unknown): boolean }

const hourMs = 3_600_000
const none: RetryOptions = { max: 0, backoffMs: 0 }

/** As data, in one order and with its defaults, so that two ways to write one policy are one definition. */
export function retrySpec({ max, backoffMs, backoff = 'fixed', maxBackoffMs = hourMs }: RetryOptions = none): Required<Omit<RetryOptions, 'retryable'>> {
  return { max, backoffMs, backoff, maxBackoffMs }
}

/** @throws SchedError SCHED_OPTION_INVALID */
export function retryPolicy(task: string, options: RetryOptions = none): RetryPolicy {
  const { max, backoffMs, backoff, maxBackoffMs } = retrySpec(options)
  const { retryable = () => true } = options
  const reject = (name: string, value: unknown, expected: string): never => {
    throw new SchedError('SCHED_OPTION_INVALID', `task ${JSON.stringify(task)}: retry.${name} is ${JSON.stringify(value) ?? String(value)}, expected ${expected}.`)
  }
  if (!Number.isInteger(max) || max < 0 || max > 1000) reject('max', max, 'a whole number from 0 to 1000')
  if (!Number.isFinite(backoffMs) || backoffMs < 0) reject('backoffMs', backoffMs, 'milliseconds, 0 or more')
  if (!Number.isFinite(maxBackoffMs) || maxBackoffMs < backoffMs) reject('maxBackoffMs', maxBackoffMs, `milliseconds, not below backoffMs (${backoffMs})`)
  if (backoff !== 'fixed' && backoff !== 'exponential') reject('backoff', backoff, `'fixed' or 'exponential'`)
  if (typeof retryable !== 'function') reject('retryable', retryable, 'a function')
  return {
    max,
    retryable,
    // Exponential pauses are spread over their upper half, so that tasks that failed together do not come back together.
    delayMs: (attempt, random) => (backoff === 'fixed' ? backoffMs : Math.min(maxBackoffMs, backoffMs * 2 ** (attempt - 1)) * (0.5 + random() / 2)),
  }
}

/** Crashes after which a task is poison: a handler that kills its process must not do so for ever. */
export function maxCrashes(maxRetries: number): number { return Math.max(3, maxRetries + 1) }
