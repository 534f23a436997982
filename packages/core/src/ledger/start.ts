import { errorClassOf } from '../session/classified-error.ts'
import { commitUnknown } from '../session/commit-error.ts'
import type { BlockResult } from '../session/store-session.ts'
import type { SqlSession } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'
import { readBack } from './read-back.ts'

export interface StartRequest {
  readonly executionId: string
  readonly taskName: string
  readonly definitionHash: string
  readonly nodeId: string
  /** Random per attempt. */
  readonly owner: string
  /** False for overlap `allow`: the task's gate is left alone, only its token grows. */
  readonly gated: boolean
  /** By hand: also of a paused or stalled task. */
  readonly manual: boolean
}

export type StartOutcome =
  | { readonly status: 'started'; readonly fencingToken: number; readonly attempt: number; readonly crashCount: number; readonly dbNow: number }
  /** The gate is taken by another attempt. */
  | { readonly status: 'busy' }
  /** The task is paused, retired, or another definition rules. */
  | { readonly status: 'ineligible' }
  | { readonly status: 'not-due'; readonly dueAt: number; readonly dbNow: number }
  /** This node's lease is over: it may start nothing under this id. */
  | { readonly status: 'node-lapsed' }
  /** Somebody else moved the execution on. */
  | { readonly status: 'moved' }
  /** The answer was lost and nothing was committed: the row waits for whoever comes. */
  | { readonly status: 'unanswered' }

/**
 * Statement S: gate, token and `running` in one short transaction. The task row is written first, then the execution: one lock
 * order everywhere. A row that stays locked means busy; a COMMIT whose answer was lost is read back.
 */
export async function startExecution(ledger: Ledger, request: StartRequest): Promise<StartOutcome> {
  try {
    return await ledger.store.block('starting an execution', (sql) => start(ledger, request, sql), { answer: 'lock-timeout' })
  } catch (error) {
    if (errorClassOf(error) === 'lock-timeout') return { status: 'busy' }
    if (!commitUnknown(error)) throw error
  }
  const found = await readBack(ledger, request)
  switch (found.status) {
    case 'mine-running': return { ...found, status: 'started' }
    case 'untouched': return { status: 'unanswered' }
    case 'mine-finished':
    case 'fenced': return { status: 'moved' }
  }
}

async function start(ledger: Ledger, request: StartRequest, sql: SqlSession): Promise<BlockResult<StartOutcome>> {
  const { tables, sql: { nowMs }, namespace } = ledger
  const { executionId, taskName, nodeId, owner } = request
  const token = `fencing_token = CASE WHEN fencing_token >= ${nowMs} THEN fencing_token + 1 ELSE ${nowMs} END`
  const where = `WHERE namespace = ? AND task_name = ? AND state IN (${startStates(request).map((state) => `'${state}'`).join(', ')}) AND definition_hash = ?`
  const task = [namespace, taskName, request.definitionHash]
  const s1 = request.gated
    ? { text: `UPDATE ${tables.tasks} SET gate_owner = ?, gate_node = ?, ${token} ${where} AND gate_owner IS NULL`, params: [owner, nodeId, ...task] }
    : { text: `UPDATE ${tables.tasks} SET ${token} ${where}`, params: task }
  if ((await sql.run(s1)).affected === 0) return undone(await whyNoGate(ledger, request, sql))

  const { rows: [raised] } = await sql.run({ text: `SELECT fencing_token FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`, params: [namespace, taskName] })
  const fencingToken = raised?.['fencing_token'] as number
  const s2 = await sql.run({
    text: `UPDATE ${tables.executions} SET state = 'running', node_id = ?, owner = ?, attempt = attempt + 1, started_at = ${nowMs}, fencing_token = ?
 WHERE namespace = ? AND execution_id = ? AND state IN ('pending', 'retry') AND due_at <= ${nowMs}
 AND EXISTS (SELECT 1 FROM ${tables.nodes} WHERE namespace = ? AND node_id = ? AND state = 'alive' AND lease_until > ${nowMs})`,
    params: [nodeId, owner, fencingToken, namespace, executionId, namespace, nodeId],
  })
  if (s2.affected === 0) return undone(await whyNoStart(ledger, request, sql))

  const { rows: [row] } = await sql.run({ text: `SELECT attempt, crash_count, started_at FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: [namespace, executionId] })
  return { commit: true, value: { status: 'started', fencingToken, attempt: row?.['attempt'] as number, crashCount: row?.['crash_count'] as number, dbNow: row?.['started_at'] as number } }
}

/** Whether an attempt of the task holds its gate right now: a look, no promise. */
export async function gateTaken({ tables, store, namespace, sql: { readHint } }: Ledger, taskName: string): Promise<boolean> {
  const { rows: [task] } = await store.run('looking at a gate', { text: `SELECT gate_owner FROM ${tables.tasks}${readHint} WHERE namespace = ? AND task_name = ?`, params: [namespace, taskName] })
  return task !== undefined && task['gate_owner'] !== null
}

function undone(value: StartOutcome): BlockResult<StartOutcome> { return { commit: false, value } }

/** The states of a task in which an execution may start. */
function startStates({ manual }: StartRequest): readonly string[] { return manual ? ['active', 'paused', 'stalled'] : ['active'] }

async function whyNoGate({ tables, namespace }: Ledger, request: StartRequest, sql: SqlSession): Promise<StartOutcome> {
  const { rows: [task] } = await sql.run({ text: `SELECT state, definition_hash FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`, params: [namespace, request.taskName] })
  return task?.['definition_hash'] === request.definitionHash && startStates(request).includes(task['state'] as string) ? { status: 'busy' } : { status: 'ineligible' }
}

/** S2 changed nothing although the gate was free: never an overlap. */
async function whyNoStart({ tables, sql: { nowMs }, namespace }: Ledger, { executionId, nodeId }: StartRequest, sql: SqlSession): Promise<StartOutcome> {
  const { rows: [row] } = await sql.run({ text: `SELECT state, due_at, ${nowMs} AS db_now FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: [namespace, executionId] })
  if (row === undefined || (row['state'] !== 'pending' && row['state'] !== 'retry')) return { status: 'moved' }
  const { rows: alive } = await sql.run({ text: `SELECT node_id FROM ${tables.nodes} WHERE namespace = ? AND node_id = ? AND state = 'alive' AND lease_until > ${nowMs}`, params: [namespace, nodeId] })
  if (alive.length === 0) return { status: 'node-lapsed' }
  // Due by now perhaps, although it was not a moment ago: the caller tries again then.
  return { status: 'not-due', dueAt: row['due_at'] as number, dbNow: row['db_now'] as number }
}
