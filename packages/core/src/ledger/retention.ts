import { terminalStates } from './execution-state.ts'
import type { Ledger } from './ledger.ts'

const batch = 500

/**
 * Deletes one batch of ended executions of a task that are older than `keepMs` by the database's clock, by key, and never the newest
 * slot of the task: what is older than every row is settled, and a scan must see where that is (I1). Returns how many went.
 */
export async function deleteEnded({ tables, sql, store, namespace }: Ledger, taskName: string, keepMs: number): Promise<number> {
  const { rows } = await store.run('looking for old executions', {
    text: `SELECT execution_id FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND state IN (${terminalStates.map((state) => `'${state}'`).join(', ')})
 AND finished_at < ${sql.nowMs} - ? AND fire_time < ${sql.nowMs} - ?
 AND (slot_key <> 'cron' OR fire_time < (SELECT MAX(n.fire_time) FROM ${tables.executions} n WHERE n.namespace = ? AND n.task_name = ? AND n.slot_key = 'cron')) ORDER BY fire_time, execution_id${sql.limit(batch)}`,
    params: [namespace, taskName, keepMs, keepMs, namespace, taskName],
  })
  for (const row of rows) {
    await store.run('deleting an old execution', { text: `DELETE FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: [namespace, row['execution_id'] as string] })
  }
  return rows.length
}
