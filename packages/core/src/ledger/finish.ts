import type { SqlSession } from '../spi/sql-session.ts'
import { commitUnknown } from '../session/commit-error.ts'
import type { AttemptReason } from './execution-row.ts'
import { transition } from './execution-state.ts'
import type { Ledger } from './ledger.ts'
import { readBack, type ReadBack, type Unanswered } from './read-back.ts'

/** The attempt a change of a running execution must name (P7). */
export interface AttemptKey {
  readonly executionId: string
  readonly taskName: string
  readonly owner: string
  readonly fencingToken: number
  /** As it was when the attempt began; where it is not known, a row under another owner is taken for fenced. */
  readonly crashCount?: number
}

/** How an attempt ends. */
export type AttemptEnd =
  | { readonly state: 'succeeded' }
  | { readonly state: 'failed'; readonly errorCode: string; readonly errorText: string }
  /** `delayMs` from the database's now. `charged: false` gives the attempt back (drain). */
  | { readonly state: 'retry'; readonly reason: AttemptReason; readonly delayMs: number; readonly charged: boolean; readonly errorCode: string; readonly errorText: string }

/**
 * `cancelled`: it was to be retried, and was asked to end meanwhile: it has failed with SCHED_TASK_CANCELLED. `fenced`: the row has moved on
 * under another owner or token; our write changed nothing.
 */
export type FinishOutcome = 'done' | 'cancelled' | 'fenced'

export interface FinishOptions {
  /** False when the handler has not settled: its gate stays until it does. */
  readonly clearGate: boolean
}

/** Statement F as a block of its own. A lost answer is read back before anything is called fenced. */
export async function finishExecution(ledger: Ledger, attempt: AttemptKey, end: AttemptEnd, options: FinishOptions): Promise<FinishOutcome> {
  try {
    const outcome = await finishBlock(ledger, attempt, end, options, 'finishing an execution')
    if (outcome !== 'fenced') return outcome
  } catch (error) {
    if (!commitUnknown(error)) throw error
    const found = await readBack(ledger, unanswered(attempt, end))
    // Nothing of it was committed, and nobody else has touched the row: the same finish is sent once more.
    return found.status === 'mine-running' ? finishBlock(ledger, attempt, end, options, 'finishing an execution again') : finishedAs(found, end)
  }
  return finishedAs(await readBack(ledger, unanswered(attempt, end)), end)
}

/** What to read back after this end: a success keeps its owner, what is to be retried, by itself or by a person, may have a new one. */
export function unanswered({ executionId, owner, crashCount }: AttemptKey, end: AttemptEnd): Unanswered {
  return { executionId, owner, crashCount: end.state === 'succeeded' ? undefined : crashCount }
}

/** What a finish whose answer was lost has come to. */
export function finishedAs(found: ReadBack, end: AttemptEnd): FinishOutcome {
  if (found.status !== 'mine-finished') return 'fenced'
  return end.state === 'retry' && found.cancelled === true ? 'cancelled' : 'done'
}

function finishBlock(ledger: Ledger, attempt: AttemptKey, end: AttemptEnd, options: FinishOptions, what: string): Promise<FinishOutcome> {
  return ledger.store.block(what, async (sql) => {
    if (!await finishStatements(ledger, attempt, end, options, sql)) return { commit: false, value: 'fenced' }
    return { commit: true, value: end.state === 'retry' && await isCancelled(ledger, attempt, sql) ? 'cancelled' : 'done' }
  })
}

async function isCancelled({ tables, namespace }: Ledger, { executionId }: AttemptKey, sql: SqlSession): Promise<boolean> {
  const { rows: [row] } = await sql.run({ text: `SELECT state FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: [namespace, executionId] })
  return row?.['state'] === 'failed'
}

/** The statements of F on a session that is inside a transaction. True when the execution was ours and has changed. */
export async function finishStatements(
  { tables, sql: { nowMs }, namespace }: Ledger, attempt: AttemptKey, end: AttemptEnd, options: FinishOptions, sql: SqlSession,
): Promise<boolean> {
  transition('running', end.state)
  if (options.clearGate) {
    await sql.run({
      text: `UPDATE ${tables.tasks} SET gate_owner = NULL, gate_node = NULL WHERE namespace = ? AND task_name = ? AND gate_owner = ?`,
      params: [namespace, attempt.taskName, attempt.owner],
    })
  }
  const where = `WHERE namespace = ? AND execution_id = ? AND state = 'running' AND owner = ? AND fencing_token = ?`
  const key = [namespace, attempt.executionId, attempt.owner, attempt.fencingToken]
  // A retry keeps its owner's name until the next start, so that a lost answer can be read back as ours. What was asked to end is not retried, and what a person
  // asked for stays by hand: in a paused task it would wait for resume.
  const { affected } = await sql.run(end.state === 'retry'
    ? {
        text: `UPDATE ${tables.executions} SET state = CASE WHEN cancel_requested_at IS NULL THEN 'retry' ELSE 'failed' END, finished_at = ${nowMs}, due_at = ${nowMs} + ?, attempt = attempt - ?, attempt_reason = CASE WHEN attempt_reason = 'manual' THEN 'manual' ELSE ? END,
 error_code = CASE WHEN cancel_requested_at IS NULL THEN ? ELSE 'SCHED_TASK_CANCELLED' END, error_text = ? ${where}`,
        params: [Math.round(end.delayMs), end.charged ? 0 : 1, end.reason, end.errorCode, errorText(end.errorText), ...key],
      }
    : {
        text: `UPDATE ${tables.executions} SET state = ?, finished_at = ${nowMs}, error_code = ?, error_text = ? ${where}`,
        params: [end.state, end.state === 'failed' ? end.errorCode : null, end.state === 'failed' ? errorText(end.errorText) : null, ...key],
      })
  return affected === 1
}

/** The gate of an attempt whose row has ended before its handler did. */
export async function clearGate({ tables, store, namespace }: Ledger, taskName: string, owner: string): Promise<void> {
  await store.run('clearing a gate', {
    text: `UPDATE ${tables.tasks} SET gate_owner = NULL, gate_node = NULL WHERE namespace = ? AND task_name = ? AND gate_owner = ?`,
    params: [namespace, taskName, owner],
  })
}

const longestErrorText = 1000

/** Cut on a code point, and never empty: Oracle stores '' as NULL. */
function errorText(text: string): string {
  const points = [...text]
  return points.length <= longestErrorText ? text || '(no message)' : points.slice(0, longestErrorText).join('')
}
