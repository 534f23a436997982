import type { SqlSession } from '../spi/sql-session.ts'
import { commitUnknown } from '../session/commit-error.ts'
import type { AttemptReason } from './execution-row.ts'
import { transition } from './execution-state.ts'
import type { Ledger } from './ledger.ts'
import { readBack, type Unanswered } from './read-back.ts'

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

/** `fenced`: the row has moved on under another owner or token; our write changed nothing. */
export type FinishOutcome = 'done' | 'fenced'

export interface FinishOptions {
  /** False when the handler has not settled: its gate stays until it does. */
  readonly clearGate: boolean
}

/** Statement F as a block of its own. A lost answer is read back before anything is called fenced. */
export async function finishExecution(ledger: Ledger, attempt: AttemptKey, end: AttemptEnd, options: FinishOptions): Promise<FinishOutcome> {
  try {
    const committed = await ledger.store.block('finishing an execution', async (sql) => {
      const matched = await finishStatements(ledger, attempt, end, options, sql)
      return { commit: matched, value: matched }
    })
    if (committed) return 'done'
  } catch (error) {
    if (!commitUnknown(error)) throw error
    const found = await readBack(ledger, unanswered(attempt, end))
    // Nothing of it was committed, and nobody else has touched the row: the same finish is sent once more.
    if (found.status === 'mine-running') return await finishAgain(ledger, attempt, end, options) ? 'done' : 'fenced'
    return found.status === 'mine-finished' ? 'done' : 'fenced'
  }
  return (await readBack(ledger, unanswered(attempt, end))).status === 'mine-finished' ? 'done' : 'fenced'
}

/** What to read back after this end: an execution that has ended for good keeps its owner, one that is to be retried may have a new one. */
export function unanswered({ executionId, owner, crashCount }: AttemptKey, end: AttemptEnd): Unanswered {
  return { executionId, owner, crashCount: end.state === 'retry' ? crashCount : undefined }
}

function finishAgain(ledger: Ledger, attempt: AttemptKey, end: AttemptEnd, options: FinishOptions): Promise<boolean> {
  return ledger.store.block('finishing an execution again', async (sql) => {
    const matched = await finishStatements(ledger, attempt, end, options, sql)
    return { commit: matched, value: matched }
  })
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
  // A retry keeps its owner's name until the next start, so that a lost answer can be read back as ours.
  const { affected } = await sql.run(end.state === 'retry'
    ? {
        text: `UPDATE ${tables.executions} SET state = 'retry', finished_at = ${nowMs}, due_at = ${nowMs} + ?, attempt = attempt - ?, attempt_reason = ?, error_code = ?, error_text = ? ${where}`,
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
