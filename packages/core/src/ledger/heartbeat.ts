import type { SqlSession, SqlValue, Statement } from '../spi/sql-session.ts'
import type { Clock } from '../time/clock.ts'
import type { Ledger } from './ledger.ts'
import { renewNode, zoneDataOf } from './nodes.ts'

export interface HeartbeatRequest {
  readonly nodeId: string
  readonly leaseMs: number
  readonly clockOffsetMs: number
  /** As it was registered. */
  readonly versions: string
  /** How far ahead due rows are announced, so that nodes arm a timer instead of polling. */
  readonly horizonMs: number
}

/** What one round told the node. */
export interface Heartbeat {
  /** False: the lease was over before this heartbeat (I3). */
  readonly alive: boolean
  readonly dbNow: number
  /** A value that changes with every change of a task's definition or state. */
  readonly registry: string
  /** There are lapsed nodes, or rows or gates of nodes that are not alive: sweep. */
  readonly orphans: number
  /** Definitions and tombstones whose carrier is not alive. */
  readonly uncarried: number
  /** The earliest due time of what waits for a start within the horizon, but for what cannot start: of a retired task, or not by hand of one that is paused or stalled. */
  readonly nearestDueAt: number | null
  /** The latest due time among it, and how many executions it is: what changes when something comes to it. */
  readonly latestDueAt: number | null
  readonly due: number
  /** Executions that run under this node's id, as the ledger has it. */
  readonly running: number
  /** Executions of this node that are to end. */
  readonly cancels: number
  /** Gates held under this node's id, as the ledger has it. */
  readonly gates: number
  /** Live nodes whose zone data is another version than this one's. */
  readonly otherZoneData: number
  /** Monotonic readings around the statement that read `dbNow`, for the clock's offset. */
  readonly sentAt: number
  readonly receivedAt: number
}

type Texts = Pick<Ledger, 'tables' | 'sql' | 'namespace'>

/** Statement H on a session inside a transaction: the renewal, then all that a node must know, in two statements. */
export async function heartbeat(ledger: Texts, request: HeartbeatRequest, sql: SqlSession, clock: Clock): Promise<Heartbeat> {
  const renewed = await sql.run(renewNode(ledger, request.nodeId, request.leaseMs, request.clockOffsetMs))
  const sentAt = clock.monotonicMs()
  const { rows: [row] } = await sql.run(lookAround(ledger, request))
  return {
    sentAt,
    receivedAt: clock.monotonicMs(),
    alive: renewed.affected === 1,
    dbNow: row?.['db_now'] as number,
    registry: String(row?.['registry'] ?? ''),
    orphans: (row?.['lapsed'] as number) + (row?.['orphaned_rows'] as number) + sumOf(row?.['orphaned_gates']),
    uncarried: sumOf(row?.['uncarried']),
    nearestDueAt: row?.['nearest_due'] as number | null,
    latestDueAt: row?.['latest_due'] as number | null,
    due: row?.['due'] as number,
    running: row?.['running'] as number,
    cancels: row?.['cancels'] as number,
    gates: sumOf(row?.['gates']),
    otherZoneData: row?.['other_zone_data'] as number,
  }
}

/** A sum is NULL without rows, and a decimal to some drivers. */
function sumOf(value: SqlValue | undefined): number { return Number(value ?? 0) }

/** The tasks are read once, there may be ten thousand, and only their few nodes are looked up. No aggregate over a subquery: SQL Server has none. */
function lookAround({ tables, sql: { nowMs, readHint }, namespace }: Texts, { nodeId, horizonMs, versions }: HeartbeatRequest): Statement {
  const executions = `${tables.executions} e${readHint}`
  const alive = (alias: string, node: string): string => `${tables.nodes} ${alias}${readHint} ON ${alias}.namespace = ? AND ${alias}.node_id = ${node} AND ${alias}.state = 'alive'`
  return {
    text: `SELECT ${nowMs} AS db_now,
 (SELECT meta_value FROM ${tables.meta} WHERE namespace = ? AND meta_key = 'registry') AS registry,
 (SELECT COUNT(*) FROM ${tables.nodes} n${readHint} WHERE n.namespace = ? AND n.state = 'alive' AND n.lease_until <= ${nowMs}) AS lapsed,
 (SELECT COUNT(*) FROM ${executions} WHERE e.namespace = ? AND e.state = 'running'
 AND NOT EXISTS (SELECT 1 FROM ${tables.nodes} n${readHint} WHERE n.namespace = ? AND n.node_id = e.node_id AND n.state = 'alive')) AS orphaned_rows,
 (SELECT COUNT(*) FROM ${executions} WHERE e.namespace = ? AND e.node_id = ? AND e.state = 'running') AS running,
 (SELECT COUNT(*) FROM ${executions} WHERE e.namespace = ? AND e.node_id = ? AND e.state = 'running' AND e.cancel_requested_at IS NOT NULL) AS cancels,
 (SELECT COUNT(*) FROM ${tables.nodes} n${readHint} WHERE n.namespace = ? AND n.state = 'alive' AND n.versions LIKE ? AND n.versions NOT LIKE ?) AS other_zone_data,
 s.gates, s.orphaned_gates, s.uncarried, d.nearest_due, d.latest_due, d.due
 FROM (SELECT SUM(CASE WHEN t.gate_node = ? THEN t.many ELSE 0 END) AS gates, SUM(CASE WHEN t.gate_node IS NOT NULL AND g.node_id IS NULL THEN t.many ELSE 0 END) AS orphaned_gates,
 SUM(CASE WHEN c.node_id IS NULL THEN t.many ELSE 0 END) AS uncarried
 FROM (SELECT t.defined_by, t.gate_node, COUNT(*) AS many FROM ${tables.tasks} t${readHint} WHERE t.namespace = ? GROUP BY t.defined_by, t.gate_node) t
 LEFT JOIN ${alive('c', 't.defined_by')} LEFT JOIN ${alive('g', 't.gate_node')}) s
 CROSS JOIN (SELECT MIN(e.due_at) AS nearest_due, MAX(e.due_at) AS latest_due, COUNT(*) AS due FROM ${executions} WHERE e.namespace = ? AND e.state IN ('pending', 'retry') AND e.due_at <= ${nowMs} + ?
 AND NOT EXISTS (SELECT 1 FROM ${tables.tasks} t${readHint} WHERE t.namespace = e.namespace AND t.task_name = e.task_name
 AND (t.state = 'retired' OR (t.state IN ('paused', 'stalled') AND e.origin <> 'manual' AND (e.attempt_reason IS NULL OR e.attempt_reason <> 'manual'))))) d`,
    params: [namespace, namespace, namespace, namespace, namespace, nodeId, namespace, nodeId, namespace, '%"tzdata":%', `%"tzdata":${JSON.stringify(zoneDataOf(versions))}%`, nodeId, namespace, namespace, namespace, namespace, horizonMs],
  }
}

/** The database's clock, for a sample of the offset. */
export function readClock({ sql: { nowMs, dual } }: Texts): Statement {
  return { text: `SELECT ${nowMs} AS db_now${dual}`, params: [] }
}
