import { executionColumns, toExecution, type ExecutionRow } from './execution-row.ts'
import type { Ledger } from './ledger.ts'

/**
 * Executions that wait for a start: due retries, and pending slots whose claimer has not started them within `graceMs` (it died
 * between slot and start, or a scan made them). Oldest first; a candidate is no promise, the start decides.
 */
export async function dueExecutions({ tables, sql, store, namespace }: Ledger, page: { graceMs: number; most: number; after: ExecutionRow | undefined }): Promise<ExecutionRow[]> {
  const { graceMs, most, after } = page
  const behind = after === undefined ? '' : ' AND (due_at > ? OR (due_at = ? AND execution_id > ?))'
  const { rows } = await store.run('looking for due executions', {
    text: `SELECT ${executionColumns} FROM ${tables.executions}${sql.readHint} WHERE namespace = ? AND state IN ('pending', 'retry') AND due_at <= ${sql.nowMs}
 AND (state = 'retry' OR origin = 'catchup' OR due_at <= ${sql.nowMs} - ?)${behind} ORDER BY due_at, execution_id${sql.limit(most)}`,
    params: [namespace, graceMs, ...(after === undefined ? [] : [after.dueAt, after.dueAt, after.executionId])],
  })
  return rows.map(toExecution)
}
