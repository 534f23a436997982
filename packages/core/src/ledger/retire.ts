import type { Ledger } from './ledger.ts'
import type { Carrier, TaskRow } from './tasks.ts'

/**
 * Tombstones: tasks that a higher revision of this namespace no longer has. Older instances that still carry them claim no more, and what
 * waited is ended. Without revisions (0) there is no order, and nothing is retired. Returns the names.
 */
export async function retireRemoved(ledger: Ledger, stored: ReadonlyMap<string, TaskRow>, carried: ReadonlySet<string>, node: Carrier): Promise<string[]> {
  const { tables, store, namespace } = ledger
  const retired: string[] = []
  for (const row of stored.values()) {
    if (carried.has(row.taskName) || row.state === 'retired' || row.revision >= node.revision) continue
    const { affected } = await store.run('retiring a task', {
      text: `UPDATE ${tables.tasks} SET state = 'retired', state_reason = ?, revision = ?, defined_by = ? WHERE namespace = ? AND task_name = ? AND state <> 'retired' AND revision = ?`,
      params: [`revision ${node.revision} no longer has it`, node.revision, node.nodeId, namespace, row.taskName, row.revision],
    })
    if (affected === 1) retired.push(row.taskName)
  }
  if (retired.length > 0) await endRetired(ledger)
  return retired
}

const batch = 100

/**
 * Ends what waits for a start of a retired task: it would wait for ever. Not in the transaction of the tombstone, which a long backlog would
 * outlast; what is left, and what becomes a retry later, is ended by the next call. Returns how many ended.
 */
export async function endRetired({ tables, sql, store, namespace }: Ledger): Promise<number> {
  let ended = 0
  for (;;) {
    const { rows } = await store.run('looking for what waits of retired tasks', {
      text: `SELECT e.execution_id, e.task_name FROM ${tables.executions} e${sql.readHint} WHERE e.namespace = ? AND e.state IN ('pending', 'retry')
 AND EXISTS (SELECT 1 FROM ${tables.tasks} t${sql.readHint} WHERE t.namespace = ? AND t.task_name = e.task_name AND t.state = 'retired') ORDER BY e.execution_id${sql.limit(batch)}`,
      params: [namespace, namespace],
    })
    const before = ended
    for (const [taskName, waiting] of Map.groupBy(rows, (row) => row['task_name'] as string)) {
      const { affected } = await store.run('ending what waits of a retired task', {
        text: `UPDATE ${tables.executions} SET state = 'failed', finished_at = ${sql.nowMs}, error_code = 'SCHED_TASK_RETIRED', error_text = ? WHERE namespace = ? AND execution_id IN (${waiting.map(() => '?').join(', ')})
 AND state IN ('pending', 'retry') AND EXISTS (SELECT 1 FROM ${tables.tasks} WHERE namespace = ? AND task_name = ? AND state = 'retired')`,
        params: ['a newer revision no longer has the task.', namespace, ...waiting.map((row) => row['execution_id'] as string), namespace, taskName],
      })
      ended += affected
    }
    // What has moved on meanwhile, or came back, is not looked for again and again.
    if (rows.length < batch || ended === before) return ended
  }
}

/** What the ledger kept of retired tasks, by name. */
export async function retiredSpecs({ tables, store, namespace }: Ledger): Promise<Map<string, string>> {
  const { rows } = await store.run('reading the retired tasks', { text: `SELECT task_name, spec FROM ${tables.tasks} WHERE namespace = ? AND state = 'retired'`, params: [namespace] })
  return new Map(rows.map((row) => [row['task_name'] as string, row['spec'] as string]))
}
