import type { ExecutionRow } from '../ledger/execution-row.ts'
import { runningExecutions } from '../ledger/due.ts'
import { skipSlot } from '../ledger/slot.ts'
import type { ArmedTask } from './armed-task.ts'
import type { AttemptOutcome } from './attempt.ts'
import type { Executor } from './executor.ts'
import { requestCancel } from './request-cancel.ts'

/**
 * The gate or the lock of a task is taken: the overlap policy applies to the slots of its schedule. They are skipped and say why, or wait
 * where the policy keeps a queue. A retry, a slot that was caught up and what a person triggered wait for their turn under every policy.
 */
export async function settleRefused(executor: Executor, armed: ArmedTask, row: ExecutionRow, why: string): Promise<AttemptOutcome> {
  if (row.state === 'retry') return { status: 'waiting' }
  if (armed.definition.overlap === 'cancel-previous') {
    const running = await runningExecutions(executor.ledger, row.taskName)
    // Picked twice: by its claim and by the run that ended that moment. The other one has started it.
    if (running.some(({ executionId }) => executionId === row.executionId)) return { status: 'ended' }
    // After an outage an older slot may come behind a newer one that runs: it does not turn the clock back.
    const late = running.some(({ fireTime }) => fireTime > row.fireTime)
    if (late && row.origin !== 'manual') return skip(executor, row, { code: 'superseded', text: 'a later slot runs already.' })
    for (const { executionId } of late ? [] : running) await requestCancel(executor, executionId, 'a later slot of the task cancels it')
  }
  if (armed.queues || row.origin !== 'scheduled') return { status: 'waiting' }
  return skip(executor, row, { code: 'overlap', text: `${why}.` })
}

async function skip({ ledger, events }: Executor, row: ExecutionRow, reason: { code: string; text: string }): Promise<AttemptOutcome> {
  if (await skipSlot(ledger, row.executionId, reason)) {
    events.emit('slot.skipped', { task: row.taskName, executionId: row.executionId, fireTime: row.fireTime, reason: reason.code })
  }
  return { status: 'skipped' }
}
