import { SchedError, asError } from '../errors.ts'
import { recordById } from '../ledger/list.ts'
import { cancelExecution, cancelRequests, type CancelOutcome } from '../ledger/operate.ts'
import type { Executor } from './executor.ts'

/** Cancels an execution wherever it is; one that runs on this node is aborted at once, on another within its heartbeat. */
export async function requestCancel(executor: Executor, executionId: string, why: string): Promise<CancelOutcome> {
  const outcome = await cancelExecution(executor.ledger, executionId, `${why}.`)
  if (outcome === 'requested') executor.running.get(executionId)?.(cancelled(why))
  if (outcome === 'cancelled') await tellCancelled(executor, executionId, why)
  return outcome
}

/** It is cancelled, whether or not it can be said of which task. */
async function tellCancelled({ ledger, events }: Executor, executionId: string, why: string): Promise<void> {
  try {
    const row = await recordById(ledger, executionId)
    if (row !== undefined) events.emit('execution.cancelled', { task: row.task, executionId, fireTime: row.fireTime, error: cancelled(why) })
  } catch (thrown) {
    events.emit('error', { error: asError(thrown), where: `telling that execution ${executionId} was cancelled` })
  }
}

/** The heartbeat says that executions of this node are to end. */
export async function obeyCancels(executor: Executor): Promise<void> {
  for (const executionId of await cancelRequests(executor.ledger, executor.life.nodeId)) executor.running.get(executionId)?.(cancelled('it was cancelled by hand or by a later slot'))
}

function cancelled(why: string): SchedError { return new SchedError('SCHED_TASK_CANCELLED', `the execution ends early: ${why}.`) }
