import type { SqlSession } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'
import { aroundLocked } from './locked-rows.ts'
import type { Carrier, TaskRow } from './tasks.ts'

/** The highest revision among the other live nodes; -1 when there are none. */
export async function highestRevision({ tables, sql: { nowMs }, store, namespace }: Ledger, node: Carrier, sql?: SqlSession): Promise<number> {
  const statement = { text: `SELECT MAX(revision) AS highest FROM ${tables.nodes} WHERE namespace = ? AND state = 'alive' AND lease_until > ${nowMs} AND node_id <> ?`, params: [namespace, node.nodeId] }
  const { rows: [row] } = await (sql === undefined ? store.run('looking for the ruling revision', statement) : sql.run(statement))
  return row?.['highest'] as number | null ?? -1
}

/** A build that changes nothing about these tasks: its revision counts from now on. A row that somebody holds is left to the next registration. */
export function raiseRevisions({ tables, store, namespace }: Ledger, tasks: readonly TaskRow[], node: Carrier): Promise<void> {
  return aroundLocked(tasks, (some) => store.run('raising revisions', {
    text: `UPDATE ${tables.tasks} SET revision = ? WHERE namespace = ? AND revision < ? AND state <> 'retired' AND (${some.map(() => '(task_name = ? AND definition_hash = ?)').join(' OR ')})`,
    params: [node.revision, namespace, node.revision, ...some.flatMap(({ taskName, definitionHash }) => [taskName, definitionHash])],
  }, { answer: 'lock-timeout' }))
}
