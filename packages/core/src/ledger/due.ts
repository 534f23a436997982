import { executionColumns, toExecution, type ExecutionRow } from './execution-row.ts'
import type { Ledger } from './ledger.ts'
import { skipSlot } from './slot.ts'

/**
 * Executions that wait for a start: due retries, and pending slots whose claimer has not started them within `graceMs` (it died
 * between slot and start, or a scan made them). Oldest first; a candidate is no promise, the start decides.
 */
export async function dueExecutions({ tables, sql, store, namespace }: Ledger, page: { graceMs: number; most: number; after: ExecutionRow | undefined }): Promise<ExecutionRow[]> {
  const { graceMs, most, after } = page
  const behind = after === undefined ? '' : ' AND (due_at > ? OR (due_at = ? AND execution_id > ?))'
  const { rows } = await store.run('looking for due executions', {
    text: `SELECT ${executionColumns} FROM ${tables.executions}${sql.readHint} WHERE namespace = ? AND state IN ('pending', 'retry') AND due_at <= ${sql.nowMs}
 AND (state = 'retry' OR origin IN ('catchup', 'manual') OR due_at <= ${sql.nowMs} - ?)${behind} ORDER BY due_at, execution_id${sql.limit(most)}`,
    params: [namespace, graceMs, ...(after === undefined ? [] : [after.dueAt, after.dueAt, after.executionId])],
  })
  return rows.map(toExecution)
}

/** A slot of a task that waits for its turn. */
export async function nextPending({ tables, sql, store, namespace }: Ledger, taskName: string, which: 'oldest' | 'newest'): Promise<ExecutionRow | undefined> {
  const order = which === 'oldest' ? 'fire_time, execution_id' : 'fire_time DESC, execution_id DESC'
  const { rows: [row] } = await store.run('looking for a pending slot', {
    text: `SELECT ${executionColumns} FROM ${tables.executions}${sql.readHint} WHERE namespace = ? AND task_name = ? AND state = 'pending' AND due_at <= ${sql.nowMs} ORDER BY ${order}${sql.limit(1)}`,
    params: [namespace, taskName],
  })
  return row === undefined ? undefined : toExecution(row)
}

/** Slots of a task that wait and are older than this one: it takes their place. */
export async function supersede(ledger: Ledger, taskName: string, fireTime: number): Promise<ExecutionRow[]> {
  const { tables, store, namespace } = ledger
  const { rows } = await store.run('looking for older pending slots', {
    text: `SELECT ${executionColumns} FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND state = 'pending' AND slot_key = 'cron' AND fire_time < ?`, params: [namespace, taskName, fireTime],
  })
  const superseded: ExecutionRow[] = []
  for (const row of rows.map(toExecution)) {
    if (await skipSlot(ledger, row.executionId, { code: 'superseded', text: 'a later slot took its place in the queue.' })) superseded.push(row)
  }
  return superseded
}

/** The executions of a task that run now. */
export async function runningExecutions({ tables, store, namespace }: Ledger, taskName: string): Promise<{ executionId: string; fireTime: number }[]> {
  const { rows } = await store.run('looking for running executions', {
    text: `SELECT execution_id, fire_time FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND state = 'running'`, params: [namespace, taskName],
  })
  return rows.map((row) => ({ executionId: row['execution_id'] as string, fireTime: row['fire_time'] as number }))
}
