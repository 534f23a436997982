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
  const { ledger, databaseClock, heartbeatMs } = executor
  const { overlap } = armed.definition
  if (row.state === 'retry') return { status: 'again', at: databaseClock.nowMs() + heartbeatMs }
  if (overlap === 'cancel-previous') {
    const running = await runningExecutions(ledger, row.taskName)
    // After an outage an older slot may come behind a newer one that runs: it does not turn the clock back.
    if (running.some(({ fireTime }) => fireTime > row.fireTime)) return skip(executor, row, { code: 'superseded', text: 'a later slot runs already.' })
    for (const { executionId } of running) await requestCancel(executor, executionId, 'a later slot of the task cancels it')
  }
  if (armed.queues) return { status: 'waiting' }
  return skip(executor, row, { code: 'overlap', text: `${why}.` })
}

async function skip({ ledger, events }: Executor, row: ExecutionRow, reason: { code: string; text: string }): Promise<AttemptOutcome> {
  if (await skipSlot(ledger, row.executionId, reason)) {
    events.emit('slot.skipped', { task: row.taskName, executionId: row.executionId, fireTime: row.fireTime, reason: reason.code })
  }
  return { status: 'ended' }
}
