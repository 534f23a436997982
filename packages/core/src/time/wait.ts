import { SchedError } from '../errors.ts'
import type { Clock } from './clock.ts'

/** What an aborted wait throws: the signal's own reason when it is an Error, else SCHED_ABORTED with it as the cause. */
export function abortError(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  // The reason of a bare `abort()` is a DOMException, which says nothing about us.
  if (reason instanceof Error && reason.name !== 'AbortError') return reason
  return new SchedError('SCHED_ABORTED', 'the wait was aborted by its signal.', { cause: reason })
}

/** Resolves after `delayMs`; rejects as soon as the signal aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal, options?: { unref?: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) { reject(abortError(signal)); return }
    const timer = clock.setTimer(() => { signal?.removeEventListener('abort', onAbort); resolve() }, delayMs, options)
    const onAbort = (): void => { timer.cancel(); reject(abortError(signal as AbortSignal)) }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

export interface DeadlineOptions {
  deadlineMs: number
  signal?: AbortSignal | undefined
  /** Makes the error of a missed deadline. */
  onDeadline(): Error
  /** Called when the work is abandoned (deadline or abort), before the rejection: destroy what the work was using. */
  onAbandon?(reason: Error): void
}

/** Awaits `work`, but not past the deadline or the abort. The work itself goes on: `onAbandon` must make that harmless. */
export function withDeadline<T>(clock: Clock, work: Promise<T>, options: DeadlineOptions): Promise<T> {
  const { signal } = options
  return new Promise<T>((resolve, reject) => {
    const abandon = (reason: Error): void => {
      settle()
      options.onAbandon?.(reason)
      reject(reason)
    }
    const timer = clock.setTimer(() => abandon(options.onDeadline()), options.deadlineMs)
    const onAbort = (): void => abandon(abortError(signal as AbortSignal))
    const settle = (): void => { timer.cancel(); signal?.removeEventListener('abort', onAbort) }
    work.then((value) => { settle(); resolve(value) }, (error: Error) => { settle(); reject(error) })
    if (signal?.aborted === true) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })
}
