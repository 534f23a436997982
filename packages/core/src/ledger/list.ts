import type { SqlRow, SqlValue } from '../spi/sql-session.ts'
import type { ExecutionState } from './execution-state.ts'
import type { Ledger } from './ledger.ts'

/** An execution, for people and programs that look at the ledger. Instants are epoch milliseconds by the database's clock. */
export interface ExecutionRecord {
  readonly executionId: string
  readonly task: string
  readonly fireTime: number
  readonly state: ExecutionState
  readonly origin: string
  readonly attempt: number
  readonly crashCount: number
  readonly dueAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly errorCode: string | null
  readonly errorText: string | null
  /**
   * A range record stands for `missedCount` fire times from `missedFrom` to `fireTime`: at least so many when they are more than half a
   * million of a cron expression. Retried by hand, its state is that of the last of them; the others stay missed.
   */
  readonly missedFrom: number | null
  readonly missedCount: number | null
}

export interface ExecutionFilter {
  readonly task?: string
  readonly state?: ExecutionState
  /** At most so many, newest first: 1 to 10,000. Default 100. */
  readonly limit?: number
  /** The last record of the page before. */
  readonly after?: Pick<ExecutionRecord, 'fireTime' | 'executionId'>
}

const columns = 'execution_id, task_name, fire_time, state, origin, attempt, crash_count, due_at, started_at, finished_at, error_code, error_text, missed_from, missed_count'

/** Newest first, by keyset: no page is counted through. */
export async function listExecutions({ tables, sql, store, namespace }: Ledger, filter: ExecutionFilter): Promise<ExecutionRecord[]> {
  const { task, state, limit = 100, after } = filter
  const conditions: string[] = ['namespace = ?']
  const params: SqlValue[] = [namespace]
  const add = (condition: string, ...values: SqlValue[]): void => { conditions.push(condition); params.push(...values) }
  if (task !== undefined) add('task_name = ?', task)
  if (state !== undefined) add('state = ?', state)
  if (after !== undefined) add('(fire_time < ? OR (fire_time = ? AND execution_id < ?))', after.fireTime, after.fireTime, after.executionId)
  const { rows } = await store.run('listing executions', {
    text: `SELECT ${columns} FROM ${tables.executions}${sql.readHint} WHERE ${conditions.join(' AND ')} ORDER BY fire_time DESC, execution_id DESC${sql.limit(limit)}`, params,
  })
  return rows.map(toRecord)
}

export async function recordById({ tables, store, namespace }: Ledger, executionId: string): Promise<ExecutionRecord | undefined> {
  const { rows: [row] } = await store.run('looking for an execution', {
    text: `SELECT ${columns} FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: [namespace, executionId],
  })
  return row === undefined ? undefined : toRecord(row)
}

/** A record that answers for a fire time. */
export interface FoundRecord {
  readonly record: ExecutionRecord
  /** A person has had it retried: its next or its latest attempt. */
  readonly retriedByHand: boolean
  /** False where it depends on the schedule whether it answers: a range of missed fire times covers other instants as well. */
  answersAlways(definitionHash: string | undefined): boolean
}

/** The record that answers for a fire time: its own row, else one that was made by hand at that very moment, else the range record that covers it. */
export async function recordOf({ tables, store, namespace }: Ledger, task: string, fireTime: number): Promise<FoundRecord | undefined> {
  const { rows } = await store.run('looking for a slot', {
    text: `SELECT ${columns}, slot_key, attempt_reason FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND fire_time = ?`, params: [namespace, task, fireTime],
  })
  const own = rows.find((row) => row['slot_key'] === 'cron') ?? rows[0]
  if (own !== undefined) return { record: toRecord(own), retriedByHand: own['attempt_reason'] === 'manual', answersAlways: () => true }
  const { rows: [range] } = await store.run('looking for a range record', {
    text: `SELECT ${columns}, definition_hash, attempt_reason FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND missed_from <= ? AND fire_time >= ?`, params: [namespace, task, fireTime, fireTime],
  })
  // Of another definition it is not known what it covers.
  return range === undefined ? undefined : { record: toRecord(range), retriedByHand: range['attempt_reason'] === 'manual', answersAlways: (definitionHash) => range['definition_hash'] !== definitionHash }
}

function toRecord(row: SqlRow): ExecutionRecord {
  const number = (column: string): number => row[column] as number
  const maybe = (column: string): number | null => row[column] as number | null
  return {
    executionId: row['execution_id'] as string, task: row['task_name'] as string, fireTime: number('fire_time'), state: row['state'] as ExecutionState, origin: row['origin'] as string,
    attempt: number('attempt'), crashCount: number('crash_count'), dueAt: number('due_at'), startedAt: maybe('started_at'), finishedAt: maybe('finished_at'),
    errorCode: row['error_code'] as string | null, errorText: row['error_text'] as string | null, missedFrom: maybe('missed_from'), missedCount: maybe('missed_count'),
  }
}
