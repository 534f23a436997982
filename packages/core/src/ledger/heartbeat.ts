import type { SqlSession, Statement } from '../spi/sql-session.ts'
import type { Clock } from '../time/clock.ts'
import type { Ledger } from './ledger.ts'
import { renewNode } from './nodes.ts'

export interface HeartbeatRequest {
  readonly nodeId: string
  readonly leaseMs: number
  readonly clockOffsetMs: number
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
  /** Definitions whose carrier is not alive. */
  readonly uncarried: number
  /** The earliest due time of a pending or retry row within the horizon. */
  readonly nearestDueAt: number | null
  /** Executions that run under this node's id, as the ledger has it. */
  readonly running: number
  /** Executions of this node that are to end. */
  readonly cancels: number
  /** Gates held under this node's id, as the ledger has it. */
  readonly gates: number
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
    orphans: (row?.['lapsed'] as number) + (row?.['orphaned_rows'] as number) + (row?.['orphaned_gates'] as number),
    uncarried: row?.['uncarried'] as number,
    nearestDueAt: row?.['nearest_due'] as number | null,
    running: row?.['running'] as number,
    cancels: row?.['cancels'] as number,
    gates: row?.['gates'] as number,
  }
}

function lookAround({ tables, sql: { nowMs, dual, readHint }, namespace }: Texts, { nodeId, horizonMs }: HeartbeatRequest): Statement {
  const executions = `${tables.executions} e${readHint}`
  const tasks = `${tables.tasks} t${readHint}`
  const notAlive = (node: string): string => `NOT EXISTS (SELECT 1 FROM ${tables.nodes} n${readHint} WHERE n.namespace = ? AND n.node_id = ${node} AND n.state = 'alive')`
  return {
    text: `SELECT ${nowMs} AS db_now,
 (SELECT meta_value FROM ${tables.meta} WHERE namespace = ? AND meta_key = 'registry') AS registry,
 (SELECT COUNT(*) FROM ${tables.nodes} n${readHint} WHERE n.namespace = ? AND n.state = 'alive' AND n.lease_until <= ${nowMs}) AS lapsed,
 (SELECT COUNT(*) FROM ${executions} WHERE e.namespace = ? AND e.state = 'running' AND ${notAlive('e.node_id')}) AS orphaned_rows,
 (SELECT COUNT(*) FROM ${tasks} WHERE t.namespace = ? AND t.gate_node IS NOT NULL AND ${notAlive('t.gate_node')}) AS orphaned_gates,
 (SELECT COUNT(*) FROM ${tasks} WHERE t.namespace = ? AND t.state <> 'retired' AND ${notAlive('t.defined_by')}) AS uncarried,
 (SELECT MIN(e.due_at) FROM ${executions} WHERE e.namespace = ? AND e.state IN ('pending', 'retry') AND e.due_at <= ${nowMs} + ?) AS nearest_due,
 (SELECT COUNT(*) FROM ${executions} WHERE e.namespace = ? AND e.node_id = ? AND e.state = 'running') AS running,
 (SELECT COUNT(*) FROM ${executions} WHERE e.namespace = ? AND e.node_id = ? AND e.state = 'running' AND e.cancel_requested_at IS NOT NULL) AS cancels,
 (SELECT COUNT(*) FROM ${tasks} WHERE t.namespace = ? AND t.gate_node = ?) AS gates${dual}`,
    params: [namespace, namespace, namespace, namespace, namespace, namespace, namespace, namespace, namespace, horizonMs, namespace, nodeId, namespace, nodeId, namespace, nodeId],
  }
}

/** The database's clock, for a sample of the offset. */
export function readClock({ sql: { nowMs, dual } }: Texts): Statement {
  return { text: `SELECT ${nowMs} AS db_now${dual}`, params: [] }
}
