import type { SqlRow } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'

export type ReadBack =
  | { readonly status: 'mine-running'; readonly fencingToken: number; readonly attempt: number; readonly crashCount: number; readonly dbNow: number }
  /** `cancelled`: it ended for good because it was asked to. */
  | { readonly status: 'mine-finished'; readonly cancelled?: boolean }
  /** Still pending, or due for a retry, under nobody: our transaction was not committed. */
  | { readonly status: 'untouched' }
  /** The execution has moved on under another owner, or is gone. */
  | { readonly status: 'fenced' }

/** The attempt whose transaction had no answer. With `crashCount` (as it was when the attempt began) an end is told too that others have gone on from. */
export interface Unanswered { readonly executionId: string; readonly owner: string; readonly crashCount?: number | undefined }

/**
 * Statement "?": what became of a transaction whose answer was lost. A plain SELECT would not do, the old statement may still be in
 * flight: the no-op UPDATE waits for the old transaction. Definitive, because COMMIT is only ever sent after the guard's own reply.
 */
export function readBack({ tables, store, namespace, sql: { nowMs } }: Ledger, attempt: Unanswered): Promise<ReadBack> {
  const key = [namespace, attempt.executionId]
  return store.block('reading an execution back', async (sql) => {
    await sql.run({ text: `UPDATE ${tables.executions} SET due_at = due_at WHERE namespace = ? AND execution_id = ?`, params: key })
    const { rows: [row] } = await sql.run({
      text: `SELECT state, owner, fencing_token, attempt, crash_count, error_code, ${nowMs} AS db_now FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: key,
    })
    return { commit: false, value: row === undefined ? { status: 'fenced' } : judge(row, attempt.owner, attempt.crashCount) }
  })
}

function judge(row: SqlRow, owner: string, crashCount: number | undefined): ReadBack {
  if (row['owner'] === owner) {
    if (row['state'] !== 'running') return { status: 'mine-finished', ...(row['state'] === 'failed' && row['error_code'] === 'SCHED_TASK_CANCELLED' ? { cancelled: true } : {}) }
    return { status: 'mine-running', fencingToken: row['fencing_token'] as number, attempt: row['attempt'] as number, crashCount: row['crash_count'] as number, dbNow: row['db_now'] as number }
  }
  // After an end of ours the next attempt may have begun already. Only its owner ends a running attempt, or a sweep, which raises the crash count.
  if (crashCount !== undefined && row['crash_count'] === crashCount) return { status: 'mine-finished' }
  return { status: row['state'] === 'pending' || row['state'] === 'retry' ? 'untouched' : 'fenced' }
}
