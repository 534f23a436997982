import type { Schedule } from '../schedule/schedule.ts'
import type { SqlSession } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'
import type { TaskWithSpec } from './tasks.ts'

/** A task's row, locked for the rest of the transaction. */
export interface StoredTask extends TaskWithSpec {
  /** The node that registered it, or carried it on. */
  readonly definedBy: string
  /** The database's clock when the row was locked. */
  readonly dbNow: number
}

/** Reads the effective schedule of a stored definition. Equal keys: the same fire times. Null where this build cannot read it. */
export type ScheduleReader = (definition: Pick<TaskWithSpec, 'spec' | 'override'>) => { readonly key: string; readonly schedule: Schedule } | null

export async function lockTask({ tables, sql: { nowMs, lockRow, lockHint = '' }, namespace }: Ledger, taskName: string, sql: SqlSession): Promise<StoredTask | undefined> {
  const { rows: [row] } = await sql.run({
    text: `SELECT definition_hash, revision, defined_by, state, state_reason, armed_from, spec, override_spec, ${nowMs} AS db_now FROM ${tables.tasks}${lockHint} WHERE namespace = ? AND task_name = ?${lockRow}`,
    params: [namespace, taskName],
  })
  if (row === undefined) return undefined
  return {
    taskName, definitionHash: row['definition_hash'] as string, revision: row['revision'] as number, definedBy: row['defined_by'] as string, state: row['state'] as StoredTask['state'], stateReason: row['state_reason'] as string | null,
    armedFrom: row['armed_from'] as number, spec: row['spec'] as string, override: row['override_spec'] as string | null, dbNow: row['db_now'] as number,
  }
}
