import type { Statement } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'

export interface NodeRegistration {
  /** A uuid per lease life: a node that lapsed comes back under another. */
  readonly nodeId: string
  /** For people: host:pid. */
  readonly label: string
  readonly revision: number
  /** core, node and tzdata versions as JSON. */
  readonly versions: string
}

/** The version of the time zone data among the versions of a node. */
export function zoneDataOf(versions: string): string { return (JSON.parse(versions) as { readonly tzdata?: string }).tzdata ?? 'unknown' }

type Texts = Pick<Ledger, 'tables' | 'sql' | 'namespace'>

/** Puts the node into the ledger, alive for one lease from now. */
export function registerNode({ tables, sql: { nowMs, dual }, namespace }: Texts, node: NodeRegistration, leaseMs: number): Statement {
  return {
    text: `INSERT INTO ${tables.nodes} (namespace, node_id, state, lease_until, started_at, node_label, revision, versions) SELECT ?, ?, 'alive', ${nowMs} + ?, ${nowMs}, ?, ?, ?${dual}`,
    params: [namespace, node.nodeId, leaseMs, node.label, node.revision, node.versions],
  }
}

/** The renewal of statement H. 0 rows: the lease was over, whatever this node believed (I3). */
export function renewNode({ tables, sql: { nowMs }, namespace }: Texts, nodeId: string, leaseMs: number, clockOffsetMs: number): Statement {
  return {
    text: `UPDATE ${tables.nodes} SET lease_until = ${nowMs} + ?, clock_offset_ms = ? WHERE namespace = ? AND node_id = ? AND state = 'alive' AND lease_until > ${nowMs}`,
    params: [leaseMs, Math.round(clockOffsetMs), namespace, nodeId],
  }
}

/** A node that leaves says so: its gates and rows need not wait for the lease. */
export function retireNode({ tables, namespace }: Texts, nodeId: string): Statement {
  return { text: `UPDATE ${tables.nodes} SET state = 'dead' WHERE namespace = ? AND node_id = ? AND state = 'alive'`, params: [namespace, nodeId] }
}

/** Rows of dead nodes that nothing points to any more, a day after they lapsed. */
export async function pruneNodes({ tables, sql, namespace, store }: Ledger): Promise<void> {
  const dayMs = 86_400_000
  const { rows } = await store.run('finding old nodes', {
    text: `SELECT n.node_id FROM ${tables.nodes} n WHERE n.namespace = ? AND n.state = 'dead' AND n.lease_until < ${sql.nowMs} - ?
 AND NOT EXISTS (SELECT 1 FROM ${tables.executions} e WHERE e.namespace = n.namespace AND e.node_id = n.node_id AND e.state = 'running')
 AND NOT EXISTS (SELECT 1 FROM ${tables.tasks} t WHERE t.namespace = n.namespace AND t.gate_node = n.node_id) ORDER BY n.node_id${sql.limit(500)}`,
    params: [namespace, dayMs],
  })
  for (const row of rows) {
    await store.run('removing an old node', { text: `DELETE FROM ${tables.nodes} WHERE namespace = ? AND node_id = ? AND state = 'dead'`, params: [namespace, row['node_id'] as string] })
  }
}
