import type { Ledger } from './ledger.ts'
import type { Carrier, TaskRow } from './tasks.ts'

/**
 * Tombstones: tasks that a higher revision of this namespace no longer has. Older instances that still carry them claim no more.
 * Without revisions (0) there is no order, and nothing is retired. Returns the names.
 */
export async function retireRemoved({ tables, store, namespace }: Ledger, stored: ReadonlyMap<string, TaskRow>, carried: ReadonlySet<string>, node: Carrier): Promise<string[]> {
  const retired: string[] = []
  for (const row of stored.values()) {
    if (carried.has(row.taskName) || row.state === 'retired' || row.revision >= node.revision) continue
    const { affected } = await store.run('retiring a task', {
      text: `UPDATE ${tables.tasks} SET state = 'retired', state_reason = ?, revision = ? WHERE namespace = ? AND task_name = ? AND state <> 'retired' AND revision = ?`,
      params: [`revision ${node.revision} no longer has it`, node.revision, namespace, row.taskName, row.revision],
    })
    if (affected === 1) retired.push(row.taskName)
  }
  return retired
}
