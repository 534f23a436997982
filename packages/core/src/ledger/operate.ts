import { createHash, randomUUID } from 'node:crypto'
import { SchedError } from '../errors.ts'
import { errorClassOf } from '../session/classified-error.ts'
import { terminalStates, type ExecutionState } from './execution-state.ts'
import type { Ledger } from './ledger.ts'
import { registryChange, touchRegistry, type TaskRow } from './tasks.ts'

/** What a person may do to a task or an execution. Every node obeys within one heartbeat. */

/** False when the task is not active. Running attempts go on. @throws SchedError SCHED_TASK_UNKNOWN */
export async function pauseTask(ledger: Ledger, taskName: string, reason: string | undefined): Promise<boolean> {
  return setState(ledger, taskName, ['active'], 'paused', reason ?? 'paused by hand')
}

/** The task waits for a person; the reason says why. False when it is not active. */
export async function stallTask(ledger: Ledger, taskName: string, reason: string): Promise<boolean> {
  return setState(ledger, taskName, ['active'], 'stalled', reason)
}

/** From paused or stalled to active; what fired meanwhile is not missed. False when the task is active. */
export async function resumeTask(ledger: Ledger, taskName: string): Promise<boolean> {
  return setState(ledger, taskName, ['paused', 'stalled'], 'active', null)
}

async function setState(ledger: Ledger, taskName: string, from: readonly string[], to: 'active' | 'paused' | 'stalled', reason: string | null): Promise<boolean> {
  const { tables, sql: { nowMs }, store, namespace } = ledger
  const changed = await store.block('changing the state of a task', async (sql) => {
    const { affected } = await sql.run({
      text: `UPDATE ${tables.tasks} SET state = ?, state_reason = ?${to === 'active' ? `, armed_from = ${nowMs}` : ''} WHERE namespace = ? AND task_name = ? AND state IN (${from.map(() => '?').join(', ')})`,
      params: [to, reason, namespace, taskName, ...from],
    })
    // Together, or a node that has it cached as paused would never look again.
    if (affected === 1) await sql.run(registryChange(ledger))
    return { commit: affected === 1, value: affected === 1 }
  })
  if (!changed) await requireTask(ledger, taskName)
  return changed
}

/** @throws SchedError SCHED_TASK_UNKNOWN */
export async function requireTask({ tables, store, namespace }: Ledger, taskName: string): Promise<void> {
  const { rows } = await store.run('looking for a task', { text: `SELECT task_name FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`, params: [namespace, taskName] })
  if (rows.length === 0) throw new SchedError('SCHED_TASK_UNKNOWN', `there is no task ${JSON.stringify(taskName)} in the namespace ${namespace}.`, { remedy: 'A task is known once an instance that carries it has started.' })
}

/**
 * An execution by hand, due now; also of a paused or stalled task. With an idempotency key the same call twice makes one execution.
 * @throws SchedError SCHED_TASK_UNKNOWN
 */
export async function triggerTask(ledger: Ledger, taskName: string, key: string | undefined): Promise<{ executionId: string; created: boolean }> {
  const { tables, sql: { nowMs }, store, namespace } = ledger
  const executionId = key === undefined ? randomUUID() : createHash('sha256').update(JSON.stringify([namespace, taskName, key]), 'utf8').digest('hex')
  try {
    const { affected } = await store.run('triggering a task', {
      text: `INSERT INTO ${tables.executions} (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash)
 SELECT namespace, ?, task_name, ${nowMs}, ?, 'pending', 'manual', 0, 0, ${nowMs}, ${nowMs}, definition_hash FROM ${tables.tasks} WHERE namespace = ? AND task_name = ? AND state <> 'retired'`,
      params: [executionId, randomUUID(), namespace, taskName],
    })
    if (affected === 1) return { executionId, created: true }
  } catch (error) {
    if (errorClassOf(error) !== 'duplicate-key') throw error
    return { executionId, created: false }
  }
  await requireTask(ledger, taskName)
  throw new SchedError('SCHED_TASK_UNKNOWN', `the task ${JSON.stringify(taskName)} is retired: no live revision has it.`)
}

export type CancelOutcome = 'cancelled' | 'requested' | 'ended' | 'unknown'

/** What waits is ended at once; what runs is asked to end, by its node, within one heartbeat. */
export async function cancelExecution(ledger: Ledger, executionId: string, why: string): Promise<CancelOutcome> {
  const { tables, sql: { nowMs }, store, namespace } = ledger
  const key = [namespace, executionId]
  for (;;) {
    const waiting = await store.run('cancelling an execution', {
      text: `UPDATE ${tables.executions} SET state = 'failed', finished_at = ${nowMs}, cancel_requested_at = ${nowMs}, error_code = 'SCHED_TASK_CANCELLED', error_text = ? WHERE namespace = ? AND execution_id = ? AND state IN ('pending', 'retry')`,
      params: [why, ...key],
    })
    if (waiting.affected === 1) return 'cancelled'
    const running = await store.run('asking an execution to end', {
      text: `UPDATE ${tables.executions} SET cancel_requested_at = ${nowMs} WHERE namespace = ? AND execution_id = ? AND state = 'running'`, params: key,
    })
    if (running.affected === 1) return 'requested'
    const { rows: [row] } = await store.run('looking for an execution', { text: `SELECT state FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: key })
    if (row === undefined) return 'unknown'
    // Between the two statements it may have gone from running to retry: once more.
    if (terminalStates.includes(row['state'] as ExecutionState)) return 'ended'
  }
}

/** Executions of this node that are to end. */
export async function cancelRequests({ tables, store, namespace }: Ledger, nodeId: string): Promise<string[]> {
  const { rows } = await store.run('looking for cancelled executions', {
    text: `SELECT execution_id FROM ${tables.executions} WHERE namespace = ? AND node_id = ? AND state = 'running' AND cancel_requested_at IS NOT NULL`, params: [namespace, nodeId],
  })
  return rows.map((row) => row['execution_id'] as string)
}

/**
 * Sets a schedule instead of the code's, or clears it with null. It survives deployments until it is cleared. The guard is the hash that
 * was read: false when the definition has changed meanwhile.
 */
export async function overrideSchedule(ledger: Ledger, task: TaskRow, override: string | null, definitionHash: string): Promise<boolean> {
  const { tables, sql: { nowMs }, store, namespace } = ledger
  const { affected } = await store.run('changing a schedule', {
    text: `UPDATE ${tables.tasks} SET override_spec = ?, definition_hash = ?, armed_from = ${nowMs} WHERE namespace = ? AND task_name = ? AND definition_hash = ?`,
    params: [override, definitionHash, namespace, task.taskName, task.definitionHash],
  })
  if (affected === 1) await touchRegistry(ledger, 'change')
  return affected === 1
}
