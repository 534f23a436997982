import { createHash, randomUUID } from 'node:crypto'
import { SchedError } from '../errors.ts'
import { errorClassOf } from '../session/classified-error.ts'
import { slotColumns } from './execution-row.ts'
import { terminalStates, type ExecutionState } from './execution-state.ts'
import type { Ledger } from './ledger.ts'
import { armFrom } from './redefine.ts'
import { lockTask, type ScheduleReader } from './stored-task.ts'
import { registryChange, type TaskWithSpec } from './tasks.ts'
import { lookingAgain, writeOff } from './write-off.ts'

/** What a person may do to a task or an execution. Every node obeys within one heartbeat. */

/** False when the task is not active. Running attempts go on. @throws SchedError SCHED_TASK_UNKNOWN */
export async function pauseTask(ledger: Ledger, taskName: string, reason: string | undefined): Promise<boolean> {
  return setState(ledger, taskName, 'paused', reason ?? 'paused by hand')
}

/** The task waits for a person; the reason says why. False when it is not active. */
export async function stallTask(ledger: Ledger, taskName: string, reason: string): Promise<boolean> {
  return setState(ledger, taskName, 'stalled', reason)
}

/**
 * From paused or stalled to active. What fired meanwhile is not caught up: one record says how much it was. False when the task is active.
 * @throws SchedError SCHED_TASK_UNKNOWN, also for a retired task
 */
export async function resumeTask(ledger: Ledger, taskName: string, readSchedule: ScheduleReader): Promise<boolean> {
  const { tables, store, namespace } = ledger
  const resumed = await lookingAgain(() => store.block('resuming a task', async (sql) => {
    const stored = await lockTask(ledger, taskName, sql)
    if (stored?.state !== 'paused' && stored?.state !== 'stalled') return { commit: false, value: false }
    const schedule = readSchedule(stored)?.schedule
    if (schedule !== undefined) await writeOff(ledger, stored, schedule, { code: stored.state, text: `the task was ${stored.state}: ${stored.stateReason ?? 'no reason was given'}.` }, sql)
    await sql.run({ text: `UPDATE ${tables.tasks} SET state = 'active', state_reason = NULL, armed_from = ? WHERE namespace = ? AND task_name = ?`, params: [stored.dbNow, namespace, taskName] })
    await sql.run(registryChange(ledger))
    return { commit: true, value: true }
  }))
  if (!resumed) await requireTask(ledger, taskName)
  return resumed
}

async function setState(ledger: Ledger, taskName: string, to: 'paused' | 'stalled', reason: string): Promise<boolean> {
  const { tables, store, namespace } = ledger
  const changed = await store.block('changing the state of a task', async (sql) => {
    const { affected } = await sql.run({
      text: `UPDATE ${tables.tasks} SET state = ?, state_reason = ? WHERE namespace = ? AND task_name = ? AND state = 'active'`, params: [to, reason, namespace, taskName],
    })
    // Together, or a node that has it cached as paused would never look again.
    if (affected === 1) await sql.run(registryChange(ledger))
    return { commit: affected === 1, value: affected === 1 }
  })
  if (!changed) await requireTask(ledger, taskName)
  return changed
}

/** @throws SchedError SCHED_TASK_UNKNOWN, also for a task that only a tombstone is left of */
export async function requireTask({ tables, store, namespace }: Ledger, taskName: string): Promise<void> {
  const { rows: [row] } = await store.run('looking for a task', { text: `SELECT state, state_reason FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`, params: [namespace, taskName] })
  if (row === undefined) throw new SchedError('SCHED_TASK_UNKNOWN', `there is no task ${JSON.stringify(taskName)} in the namespace ${namespace}.`, { remedy: 'A task is known once an instance that carries it has started.' })
  if (row['state'] !== 'retired') return
  throw new SchedError('SCHED_TASK_UNKNOWN', `the task ${JSON.stringify(taskName)} is retired: ${String(row['state_reason'])}.`, {
    remedy: 'It comes back with an instance of a higher revision that has it, or when the instances of the revision that removed it have stopped.',
  })
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
      text: `INSERT INTO ${tables.executions} (${slotColumns})
 SELECT namespace, ?, task_name, ${nowMs}, ?, 'pending', 'manual', 0, 0, ${nowMs}, ${nowMs}, definition_hash FROM ${tables.tasks} WHERE namespace = ? AND task_name = ? AND state <> 'retired'`,
      params: [executionId, randomUUID(), namespace, taskName],
    })
    if (affected === 1) return { executionId, created: true }
  } catch (error) {
    if (errorClassOf(error) !== 'duplicate-key') throw error
    return { executionId, created: false }
  }
  await requireTask(ledger, taskName)
  throw new SchedError('SCHED_CONTENDED', `the task ${JSON.stringify(taskName)} came back at the same moment.`, { remedy: 'Try again.' })
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
 * was read: false when the definition has changed meanwhile. What the old schedule had left becomes one record.
 */
export function overrideSchedule(ledger: Ledger, task: TaskWithSpec, override: string | null, definitionHash: string, readSchedule: ScheduleReader): Promise<boolean> {
  const { tables, store, namespace } = ledger
  return lookingAgain(() => store.block('changing a schedule', async (sql) => {
    const stored = await lockTask(ledger, task.taskName, sql)
    if (stored?.definitionHash !== task.definitionHash) return { commit: false, value: false }
    const armedFrom = await armFrom(ledger, stored, { spec: stored.spec, override }, readSchedule, sql)
    await sql.run({
      text: `UPDATE ${tables.tasks} SET override_spec = ?, definition_hash = ?, armed_from = ? WHERE namespace = ? AND task_name = ?`, params: [override, definitionHash, armedFrom, namespace, task.taskName],
    })
    await sql.run(registryChange(ledger))
    return { commit: true, value: true }
  }))
}
