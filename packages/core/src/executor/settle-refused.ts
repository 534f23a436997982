import type { ExecutionRow } from '../ledger/execution-row.ts'
import { runningExecutions } from '../ledger/due.ts'
import { skipSlot } from '../ledger/slot.ts'
import type { ArmedTask } from './armed-task.ts'
import type { AttemptOutcome } from './attempt.ts'
import type { Executor } from './executor.ts'
import { requestCancel } from './request-cancel.ts'

/**
 * The gate or the lock of a task is taken: the overlap policy applies. A retry waits its turn; a slot is skipped and says why, or waits
 * where the policy keeps a queue.
 */
export async function settleRefused(executor: Executor, armed: ArmedTask, row: ExecutionRow, why: string): Promise<AttemptOutcome> {
  const { ledger, databaseClock, heartbeatMs, events } = executor
  const { overlap } = armed.definition
  if (row.state === 'retry') return { status: 'again', at: databaseClock.nowMs() + heartbeatMs }
  if (overlap === 'cancel-previous') {
    for (const executionId of await runningExecutions(ledger, row.taskName)) await requestCancel(executor, executionId, 'a later slot of the task cancels it')
  }
  if (armed.queues) return { status: 'waiting' }
  if (await skipSlot(ledger, row.executionId, { code: 'overlap', text: `${why}.` })) {
    events.emit('slot.skipped', { task: row.taskName, executionId: row.executionId, fireTime: row.fireTime, reason: 'overlap' })
  }
  return { status: 'ended' }
}
