import type { ExecutionState } from '../../ledger/execution-state.ts'
import { tableNames, type TableOptions } from '../../ledger/tables.ts'
import type { MemoryDatabase } from '../database/memory-dialect.ts'
import { memoryFragments } from '../database/memory-fragments.ts'

/** A row of the ledger, as it is committed. Instants but the fire time are epoch milliseconds by the database's clock. */
export interface LedgerEntry {
  readonly task: string
  readonly fireTime: Date
  readonly state: ExecutionState
  readonly origin: string
  readonly attempt: number
  readonly crashCount: number
  readonly executionId: string
  readonly owner: string | null
  readonly fencingToken: number | null
  readonly dueAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly errorCode: string | null
  readonly errorText: string | null
  /** A range record stands for `missedCount` fire times from `missedFrom` to `fireTime`. */
  readonly missedFrom: Date | null
  readonly missedCount: number | null
}

/** The ledger of a namespace, of one task or of all, by fire time. */
export function readLedger(database: MemoryDatabase, namespace: string, tables: TableOptions, task: string | undefined): LedgerEntry[] {
  const { executions } = tableNames(memoryFragments, tables)
  const where = task === undefined ? '' : ' AND task_name = ?'
  const rows = database.query(`SELECT * FROM ${executions} WHERE namespace = ?${where} ORDER BY fire_time, slot_key`, [namespace, ...(task === undefined ? [] : [task])])
  const text = (row: Record<string, unknown>, column: string): string | null => row[column] as string | null
  const number = (row: Record<string, unknown>, column: string): number | null => row[column] as number | null
  return rows.map((row) => {
    const missedFrom = number(row, 'missed_from')
    return {
      task: row['task_name'] as string, fireTime: new Date(row['fire_time'] as number), state: row['state'] as ExecutionState, origin: row['origin'] as string,
      attempt: row['attempt'] as number, crashCount: row['crash_count'] as number, executionId: row['execution_id'] as string, owner: text(row, 'owner'), fencingToken: number(row, 'fencing_token'),
      dueAt: row['due_at'] as number, startedAt: number(row, 'started_at'), finishedAt: number(row, 'finished_at'), errorCode: text(row, 'error_code'), errorText: text(row, 'error_text'),
      missedFrom: missedFrom === null ? null : new Date(missedFrom), missedCount: number(row, 'missed_count'),
    }
  })
}
