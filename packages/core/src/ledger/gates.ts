import type { SqlRow } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'

/** The attempt that holds the gate of a task: until it has ended, no other of the task starts. Instants by the database's clock. */
export interface GateHolder {
  /** Random per attempt. */
  readonly owner: string
  /** Null when the execution has ended without its handler: it ignores its signal, and keeps the gate until it settles. */
  readonly executionId: string | null
  /** When the attempt started; null as above. */
  readonly sinceAt: number | null
  readonly fencingToken: number
  readonly nodeId: string
  /** The instance, as host:pid; null when the ledger does not have it any more. */
  readonly instance: string | null
  /** False: its lease is over, and the next sweep frees the gate. */
  readonly alive: boolean
}

export interface Gate { readonly task: string; readonly holder: GateHolder | null }

/** The gates that are held, by task; with a name that task's gate, held or not. */
export async function listGates({ tables, sql: { nowMs, readHint }, store, namespace }: Ledger, task: string | undefined): Promise<Gate[]> {
  const { rows } = await store.run('listing gates', {
    text: `SELECT t.task_name, t.gate_owner, t.gate_node, t.fencing_token, n.node_label, CASE WHEN n.state = 'alive' AND n.lease_until > ${nowMs} THEN 1 ELSE 0 END AS alive, e.execution_id, e.started_at
 FROM ${tables.tasks} t${readHint} LEFT JOIN ${tables.nodes} n${readHint} ON n.namespace = t.namespace AND n.node_id = t.gate_node
 LEFT JOIN ${tables.executions} e${readHint} ON e.namespace = t.namespace AND e.node_id = t.gate_node AND e.state = 'running' AND e.owner = t.gate_owner
 WHERE t.namespace = ? AND ${task === undefined ? 't.gate_owner IS NOT NULL' : 't.task_name = ?'} ORDER BY t.task_name`,
    params: [namespace, ...(task === undefined ? [] : [task])],
  })
  return rows.map((row) => ({ task: row['task_name'] as string, holder: row['gate_owner'] === null ? null : toHolder(row) }))
}

function toHolder(row: SqlRow): GateHolder {
  return {
    owner: row['gate_owner'] as string, executionId: row['execution_id'] as string | null, sinceAt: row['started_at'] as number | null, fencingToken: row['fencing_token'] as number,
    nodeId: row['gate_node'] as string, instance: row['node_label'] as string | null, alive: row['alive'] === 1,
  }
}
