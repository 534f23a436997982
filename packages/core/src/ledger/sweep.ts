import type { ErrorCode } from '../errors.ts'
import type { SqlRow, SqlSession, Statement } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'
import { unlessLocked } from './locked-rows.ts'

/** What a sweep found and did. */
export interface SweepReport {
  /** Nodes declared dead by this sweep. */
  readonly dead: readonly string[]
  readonly recovered: readonly Recovered[]
  /** Executions another transaction holds: the session that blocks them must end first. */
  readonly blocked: readonly string[]
}

export interface Recovered {
  readonly executionId: string
  readonly taskName: string
  readonly fireTime: number
  readonly state: 'retry' | 'failed'
  readonly crashCount: number
  /** As in the ledger: why it failed, or why it is to be tried again. */
  readonly errorCode: ErrorCode
  /** This recovery made the task wait for a person. */
  readonly stalled: boolean
}

/** How crashes of a task are dealt with; the node asks by the definition in the ledger, so that it can sweep tasks it does not carry. */
export interface RecoveryRule { readonly recover: boolean; readonly stall: boolean; readonly maxCrashes: number }

export interface SweepRequest {
  readonly nodeId: string
  /** Owners of this node's attempts that are in its memory: in flight, running, or stuck. */
  readonly owners: () => ReadonlySet<string>
  readonly rule: (spec: string | null) => RecoveryRule
}

/**
 * Statement W. R1 judges expiry, and is the only place that does; it meets H on the node's row, so one of the two wins. Rows are
 * then settled one by one, each in a short transaction of its own: a row that is locked is skipped and reported, and the sweep goes on.
 */
export async function sweep(ledger: Ledger, request: SweepRequest): Promise<SweepReport> {
  const recovered: Recovered[] = []
  const blocked: string[] = []
  const dead = await declareDead(ledger, blocked)
  for (const row of await orphanedExecutions(ledger, request)) {
    const outcome = await unlessLocked(() => recover(ledger, request, row))
    if (outcome === 'locked') blocked.push(row['execution_id'] as string)
    else if (outcome !== null) recovered.push(outcome)
  }
  for (const row of await orphanedGates(ledger, request)) {
    const outcome = await unlessLocked(() => freeGate(ledger, request, row))
    if (outcome === 'locked') blocked.push(`gate of ${String(row['task_name'])}`)
  }
  return { dead, recovered, blocked }
}

/** R1 */
async function declareDead({ tables, sql: { nowMs, readHint }, namespace, store }: Ledger, blocked: string[]): Promise<string[]> {
  const { rows } = await store.run('looking for lapsed nodes', {
    text: `SELECT node_id FROM ${tables.nodes}${readHint} WHERE namespace = ? AND state = 'alive' AND lease_until <= ${nowMs}`, params: [namespace],
  })
  const dead: string[] = []
  for (const row of rows) {
    const nodeId = row['node_id'] as string
    // A node that froze inside its heartbeat holds its own row; the others are settled all the same.
    const outcome = await unlessLocked(() => store.block('declaring a node dead', async (sql) => {
      const { affected } = await sql.run({
        text: `UPDATE ${tables.nodes} SET state = 'dead' WHERE namespace = ? AND node_id = ? AND state = 'alive' AND lease_until <= ${nowMs}`, params: [namespace, nodeId],
      })
      return { commit: affected === 1, value: affected === 1 }
    }, { answer: 'lock-timeout' }))
    if (outcome === 'locked') blocked.push(`node ${nodeId}`)
    else if (outcome) dead.push(nodeId)
  }
  return dead
}

/** Rows of nodes that are not alive (R2), and rows of this node that it knows nothing of (R3: the answer to a start was lost). */
async function orphanedExecutions({ tables, sql: { readHint }, namespace, store }: Ledger, { nodeId, owners }: SweepRequest): Promise<readonly SqlRow[]> {
  const { rows } = await store.run('looking for orphaned executions', {
    text: `SELECT e.execution_id, e.task_name, e.fire_time, e.owner, e.fencing_token, e.crash_count, e.node_id, t.spec, t.state AS task_state, t.state_reason
 FROM ${tables.executions} e${readHint} LEFT JOIN ${tables.tasks} t${readHint} ON t.namespace = e.namespace AND t.task_name = e.task_name
 WHERE e.namespace = ? AND e.state = 'running'
 AND (e.node_id = ? OR NOT EXISTS (SELECT 1 FROM ${tables.nodes} n${readHint} WHERE n.namespace = e.namespace AND n.node_id = e.node_id AND n.state = 'alive'))`,
    params: [namespace, nodeId],
  })
  // Memory is read after the ledger: an owner enters it before its start is sent.
  const mine = owners()
  return rows.filter((row) => row['node_id'] !== nodeId || !mine.has(row['owner'] as string))
}

/** R2, R3: the gate by its owner, then the row by id, owner, token and state. What was asked to end is not run again; what a person asked for stays by hand. */
function recover(ledger: Ledger, { rule, nodeId }: SweepRequest, row: SqlRow): Promise<Recovered | null> {
  const { tables, sql: { nowMs }, namespace, store } = ledger
  const { recover: again, stall, maxCrashes } = rule(row['spec'] as string | null)
  const [executionId, taskName] = [row['execution_id'] as string, row['task_name'] as string]
  const crashCount = (row['crash_count'] as number) + 1
  const poison = crashCount >= maxCrashes
  const state = again && !poison ? 'retry' : 'failed'
  const code = poison && again ? 'SCHED_TASK_POISON' : 'SCHED_LEASE_LOST'
  const errorText = `the node that ran it died or lost its lease (crash ${crashCount} of at most ${maxCrashes}).`
  return store.block('recovering an execution', async (sql) => {
    await freeGateStatement(ledger, taskName, row['owner'] as string, sql)
    const notAlive = nodeNotAlive(ledger, row['node_id'] as string, nodeId)
    const { affected } = await sql.run({
      text: `UPDATE ${tables.executions} SET state = CASE WHEN cancel_requested_at IS NULL THEN ? ELSE 'failed' END, crash_count = ?, attempt_reason = CASE WHEN attempt_reason = 'manual' THEN 'manual' ELSE 'recovered' END, owner = NULL, node_id = NULL,
 due_at = ${nowMs}, finished_at = ${nowMs}, error_code = CASE WHEN cancel_requested_at IS NULL THEN ? ELSE 'SCHED_TASK_CANCELLED' END, error_text = ?
 WHERE namespace = ? AND execution_id = ? AND state = 'running' AND owner = ? AND fencing_token = ?${notAlive.text}`,
      params: [state, crashCount, code, errorText, namespace, executionId, row['owner'] as string, row['fencing_token'] as number, ...notAlive.params],
    })
    if (affected === 0) return { commit: false, value: null }
    // A cancellation may have come since the row was seen.
    const { rows: [now] } = await sql.run({ text: `SELECT state, error_code FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: [namespace, executionId] })
    const stalled = stall && await stallStatement(ledger, row, `execution ${executionId}: ${errorText}`, sql)
    return { commit: true, value: { executionId, taskName, fireTime: row['fire_time'] as number, state: now?.['state'] as Recovered['state'], crashCount, errorCode: now?.['error_code'] as ErrorCode, stalled } }
  }, { answer: 'lock-timeout' })
}

/** A crash in a paused task is to be looked at as well; its own reason is kept. True when the task did not wait for a person before. */
async function stallStatement({ tables, namespace }: Ledger, row: SqlRow, why: string, sql: SqlSession): Promise<boolean> {
  const reason = row['task_state'] === 'paused' ? `${why} It was paused before: ${String(row['state_reason'])}` : why
  const { affected } = await sql.run({
    text: `UPDATE ${tables.tasks} SET state = 'stalled', state_reason = ? WHERE namespace = ? AND task_name = ? AND state IN ('active', 'paused')`,
    params: [reason, namespace, row['task_name'] as string],
  })
  return affected === 1
}

/**
 * Looked at again inside the transaction, without a read hint: what a dirty or skipping read took for a dead node may be alive. Rows of
 * this node itself are judged by its memory.
 */
function nodeNotAlive({ tables, namespace }: Ledger, nodeId: string, me: string): Statement {
  if (nodeId === me) return { text: '', params: [] }
  return { text: ` AND NOT EXISTS (SELECT 1 FROM ${tables.nodes} WHERE namespace = ? AND node_id = ? AND state = 'alive')`, params: [namespace, nodeId] }
}

/** R4: gates whose node is not alive, and this node's gates of owners it does not know (the gate of a stuck attempt outlives its row). */
async function orphanedGates({ tables, sql: { readHint }, namespace, store }: Ledger, { nodeId, owners }: SweepRequest): Promise<readonly SqlRow[]> {
  const { rows } = await store.run('looking for orphaned gates', {
    text: `SELECT t.task_name, t.gate_owner, t.gate_node FROM ${tables.tasks} t${readHint} WHERE t.namespace = ? AND t.gate_owner IS NOT NULL
 AND (t.gate_node = ? OR NOT EXISTS (SELECT 1 FROM ${tables.nodes} n${readHint} WHERE n.namespace = t.namespace AND n.node_id = t.gate_node AND n.state = 'alive'))
 AND NOT EXISTS (SELECT 1 FROM ${tables.executions} e${readHint} WHERE e.namespace = t.namespace AND e.node_id = t.gate_node AND e.state = 'running' AND e.owner = t.gate_owner)`,
    params: [namespace, nodeId],
  })
  const mine = owners()
  return rows.filter((row) => row['gate_node'] !== nodeId || !mine.has(row['gate_owner'] as string))
}

async function freeGate(ledger: Ledger, { nodeId }: SweepRequest, row: SqlRow): Promise<void> {
  const { tables, namespace, store } = ledger
  const notAlive = nodeNotAlive(ledger, row['gate_node'] as string, nodeId)
  await store.block('freeing an orphaned gate', async (sql) => {
    await sql.run({
      text: `UPDATE ${tables.tasks} SET gate_owner = NULL, gate_node = NULL WHERE namespace = ? AND task_name = ? AND gate_owner = ?${notAlive.text}`,
      params: [namespace, row['task_name'] as string, row['gate_owner'] as string, ...notAlive.params],
    })
    return { commit: true, value: undefined }
  }, { answer: 'lock-timeout' })
}

async function freeGateStatement({ tables, namespace }: Ledger, taskName: string, owner: string, sql: SqlSession): Promise<void> {
  await sql.run({
    text: `UPDATE ${tables.tasks} SET gate_owner = NULL, gate_node = NULL WHERE namespace = ? AND task_name = ? AND gate_owner = ?`,
    params: [namespace, taskName, owner],
  })
}
