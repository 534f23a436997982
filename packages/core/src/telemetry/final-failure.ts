import type { ExecutionRef } from '../executor/events.ts'
import { SchedError, asError } from '../errors.ts'
import { subscribe, type EventSource } from './subscribe.ts'

/** An execution that ended for good without success: no attempt follows by itself. */
export interface FinalFailure extends ExecutionRef {
  /**
   * `attempt`: its last attempt failed, timed out or was cancelled. `crash`: the instance that ran it died, and it is not tried again, also because it had been asked to end.
   * `cancelled`: it was cancelled while it waited for an attempt.
   */
  readonly cause: 'attempt' | 'crash' | 'cancelled'
  /** What ended it: the handler's own error, or a SchedError (SCHED_TASK_TIMEOUT, SCHED_TASK_CANCELLED, SCHED_LEASE_LOST, SCHED_TASK_POISON …). */
  readonly error: Error
  /** Of the last attempt; undefined for a crash, and for what was cancelled while it waited. */
  readonly attempt: number | undefined
}

/**
 * Calls the hook once per execution that failed for good, on the instance that found it out: the cluster as a whole calls it once, unless
 * that instance dies meanwhile. What waits and is cancelled with the `sched` command, which is no instance, calls nobody. A hook that throws becomes an `error` event, one that rejects a process warning; neither is tried
 * again. The result removes it.
 */
export function onFinalFailure(scheduler: EventSource, hook: (failure: FinalFailure) => unknown): () => void {
  const call = (failure: FinalFailure): void => {
    const result = hook(failure)
    // Nobody awaits an event: the rejection must not end the process, nor go unheard.
    if (result instanceof Promise) result.catch((thrown: unknown) => process.emitWarning(asError(thrown)))
  }
  return subscribe(scheduler, {
    'execution.failed': ({ task, executionId, fireTime, attempt, error }) => call({ task, executionId, fireTime, attempt, error, cause: 'attempt' }),
    'execution.cancelled': ({ task, executionId, fireTime, error }) => call({ task, executionId, fireTime, attempt: undefined, error, cause: 'cancelled' }),
    'execution.recovered': ({ task, executionId, fireTime, state, crashCount, errorCode }) => {
      if (state !== 'failed') return
      const error = new SchedError(errorCode, `the instance that ran ${task} died or lost its lease (crash ${crashCount}), and the execution is not tried again.`, { details: { crashCount } })
      call({ task, executionId, fireTime, attempt: undefined, error, cause: 'crash' })
    },
  })
}
