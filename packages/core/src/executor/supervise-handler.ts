import { SchedError } from '../errors.ts'
import type { LeaseSignal } from '../locks/lease-signal.ts'
import type { Clock } from '../time/clock.ts'

export interface Supervision {
  readonly run: () => unknown
  readonly lease: LeaseSignal
  readonly clock: Clock
  readonly interrupt: AbortSignal
  readonly abortGraceMs: number
  readonly timeoutMs: number
  readonly task: string
}

/** How a handler ended; `stuck`: it had its signal aborted and did not settle within the grace. `handler` never rejects. */
export type Settled =
  | { readonly status: 'returned' }
  | { readonly status: 'threw'; readonly error: unknown }
  | { readonly status: 'stuck'; readonly error: Error; readonly handler: Promise<unknown> }

/** Runs a handler with its timeout and the drain's interrupt, and gives up on it a grace after its signal has aborted. */
export async function superviseHandler({ run, lease, clock, interrupt, abortGraceMs, timeoutMs, task }: Supervision): Promise<Settled> {
  const { signal } = lease
  const timeout = timeoutMs === Infinity ? undefined : clock.setTimer(() => lease.abort(new SchedError('SCHED_TASK_TIMEOUT', `${task} ran longer than its timeoutMs of ${timeoutMs} ms.`)), timeoutMs)
  const onInterrupt = (): void => lease.abort(new SchedError('SCHED_TASK_INTERRUPTED', `${task} was interrupted: this instance is stopping.`))
  if (interrupt.aborted) onInterrupt()
  else interrupt.addEventListener('abort', onInterrupt, { once: true })

  const handler: Promise<Settled> = Promise.resolve().then(run).then(() => ({ status: 'returned' }), (error: unknown) => ({ status: 'threw', error }))
  let grace: { cancel(): void } | undefined
  let onAbort: (() => void) | undefined
  const givenUp = new Promise<Settled>((resolve) => {
    onAbort = () => { grace = clock.setTimer(() => resolve({ status: 'stuck', error: signal.reason as Error, handler }), abortGraceMs) }
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted && grace === undefined) onAbort()
  })
  try {
    return await Promise.race([handler, givenUp])
  } finally {
    timeout?.cancel()
    grace?.cancel()
    interrupt.removeEventListener('abort', onInterrupt)
    if (onAbort !== undefined) signal.removeEventListener('abort', onAbort)
  }
}
