import { batches } from './batches.ts'
import { terminalStates } from './execution-state.ts'
import type { Ledger } from './ledger.ts'
import { newestSlot } from './outermost-slots.ts'

const batch = 500
const atOnce = 100
const ended = `state IN (${terminalStates.map((state) => `'${state}'`).join(', ')})`

/**
 * Deletes one batch of ended executions of a task that are older than `keepMs` by the database's clock, by keys, and never the newest
 * slot of the task: what is older than every row is settled, and a scan must see where that is (I1). Returns how many went.
 */
export async function deleteEnded(ledger: Ledger, taskName: string, keepMs: number): Promise<number> {
  const { tables, sql, store, namespace } = ledger
  const { rows } = await store.run('looking for old executions', {
    text: `SELECT execution_id FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND ${ended}
 AND finished_at < ${sql.nowMs} - ? AND fire_time < ${sql.nowMs} - ?
 AND (slot_key <> 'cron' OR fire_time < (${newestSlot(ledger)})) ORDER BY fire_time, execution_id${sql.limit(batch)}`,
    params: [namespace, taskName, keepMs, keepMs, namespace, taskName],
  })
  const ids = rows.map((row) => row['execution_id'] as string)
  let deleted = 0
  for (const some of batches(ids, atOnce)) {
    // Retried by hand since it was seen, it is open again.
    const { affected } = await store.run('deleting old executions', {
      text: `DELETE FROM ${tables.executions} WHERE namespace = ? AND execution_id IN (${some.map(() => '?').join(', ')}) AND ${ended}`, params: [namespace, ...some],
    })
    deleted += affected
  }
  return deleted
}

/**
 * The tasks that may have something to delete, in one statement: without it there would be one for each task, of ten thousand perhaps. It reads
 * the index by state and due time; what ended before it was due (a retry that was cancelled) is found when that time has passed too.
 */
export async function tasksWithEnded({ tables, sql, store, namespace }: Ledger, keepMs: number): Promise<string[]> {
  const { rows } = await store.run('looking for tasks with old executions', {
    text: `SELECT DISTINCT e.task_name FROM ${tables.executions} e${sql.readHint} WHERE e.namespace = ? AND e.${ended} AND e.due_at < ${sql.nowMs} - ? AND e.finished_at < ${sql.nowMs} - ?
 AND (e.slot_key <> 'cron' OR EXISTS (SELECT 1 FROM ${tables.executions} n${sql.readHint} WHERE n.namespace = e.namespace AND n.task_name = e.task_name AND n.fire_time > e.fire_time AND n.slot_key = 'cron'))`,
    params: [namespace, keepMs, keepMs],
  })
  return rows.map((row) => row['task_name'] as string)
}
