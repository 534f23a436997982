import type { Ledger } from './ledger.ts'
import { newestSlot, oldestSlot } from './outermost-slots.ts'

/** How it stands with a task, for a person who asks why something did not start. */
export interface Standing {
  /** Live instances of the namespace, whatever tasks they have. */
  readonly instances: number
  /** A live instance is known to carry the definition that rules. Known anew a heartbeat after the last carrier's end. */
  readonly carried: boolean
  /** An attempt holds the gate: nothing else of the task starts. */
  readonly gateTaken: boolean
  /** Fire times of the oldest and the newest slot that the ledger has. Null: none. */
  readonly oldest: number | null
  readonly newest: number | null
}

export async function standingOf(ledger: Ledger, taskName: string): Promise<Standing> {
  const { tables, sql: { nowMs, readHint }, store, namespace } = ledger
  const alive = `${tables.nodes} n${readHint} WHERE n.namespace = t.namespace AND n.state = 'alive' AND n.lease_until > ${nowMs}`
  const { rows: [row] } = await store.run('looking how it stands with a task', {
    text: `SELECT t.gate_owner, (SELECT COUNT(*) FROM ${alive}) AS instances, (SELECT COUNT(*) FROM ${alive} AND n.node_id = t.defined_by) AS carriers,
 (${oldestSlot(ledger, { readHint })}) AS oldest, (${newestSlot(ledger, { readHint })}) AS newest FROM ${tables.tasks} t${readHint} WHERE t.namespace = ? AND t.task_name = ?`,
    params: [namespace, taskName, namespace, taskName, namespace, taskName],
  })
  return {
    instances: (row?.['instances'] ?? 0) as number, carried: row?.['carriers'] === 1, gateTaken: row !== undefined && row['gate_owner'] !== null,
    oldest: (row?.['oldest'] ?? null) as number | null, newest: (row?.['newest'] ?? null) as number | null,
  }
}
