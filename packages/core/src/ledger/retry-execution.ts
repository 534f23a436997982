import { SchedError } from '../errors.ts'
import type { Ledger } from './ledger.ts'

/** `retried`: due now. `open`: it waits or runs already. `succeeded`: it is not run again. `unknown`: the ledger has no such execution (any more). */
export type RetryOutcome = 'retried' | 'open' | 'succeeded' | 'unknown'

/**
 * One further attempt of what failed, was skipped or missed, due now. Attempts and crashes go on counting: what has used up its retries
 * ends with this attempt. A range record runs for its latest fire time, and goes on answering for the others.
 * @throws SchedError SCHED_TASK_UNKNOWN when no live revision has the task
 */
export async function retryExecution(ledger: Ledger, executionId: string): Promise<RetryOutcome> {
  const { tables, sql: { nowMs, lockRow, lockHint = '' }, store, namespace } = ledger
  const key = [namespace, executionId]
  const look = { text: `SELECT task_name, state FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: key }
  const { rows: [found] } = await store.run('looking for an execution', look)
  if (found === undefined) return 'unknown'
  const taskName = found['task_name'] as string
  const outcome = await store.block<RetryOutcome | 'retired'>('retrying an execution by hand', async (sql) => {
    // The task's row first, as everywhere: whoever retires it ends what is open.
    const { rows: [task] } = await sql.run({ text: `SELECT state FROM ${tables.tasks}${lockHint} WHERE namespace = ? AND task_name = ?${lockRow}`, params: [namespace, taskName] })
    const { rows: [row] } = await sql.run(look)
    const outcome = outcomeOf(row?.['state'] as string | undefined, task?.['state'] as string | undefined)
    if (outcome !== 'retried') return { commit: false, value: outcome }
    // An old wish to cancel must not end the new attempt.
    const { affected } = await sql.run({
      text: `UPDATE ${tables.executions} SET state = 'retry', attempt_reason = 'manual', due_at = ${nowMs}, cancel_requested_at = NULL WHERE namespace = ? AND execution_id = ? AND state IN ('failed', 'skipped', 'missed')`,
      params: key,
    })
    return { commit: affected === 1, value: affected === 1 ? 'retried' : 'open' }
  })
  if (outcome !== 'retired') return outcome
  throw new SchedError('SCHED_TASK_UNKNOWN', `the task ${JSON.stringify(taskName)} of this execution is retired: no live revision has it.`)
}

function outcomeOf(state: string | undefined, task: string | undefined): RetryOutcome | 'retired' {
  switch (state) {
    case undefined: return 'unknown'
    case 'succeeded': return 'succeeded'
    case 'pending':
    case 'running':
    case 'retry': return 'open'
    default: return task === undefined || task === 'retired' ? 'retired' : 'retried'
  }
}
