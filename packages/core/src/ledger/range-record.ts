import type { Statement } from '../spi/sql-session.ts'
import { slotColumns } from './execution-row.ts'
import type { Ledger } from './ledger.ts'

/** Fire times that did not run, and why. */
export interface MissedRange {
  readonly id: string
  readonly from: number
  readonly to: number
  readonly count: number
  readonly code: string
  readonly text: string
}

/** What nobody claimed while the task was to run. */
export const nobodyClaimed = { code: 'missed', text: 'no instance claimed these fire times in time.' } as const

/** One row for all of them: a long outage leaves no row per fire time. */
export function rangeRecord({ tables, sql: { nowMs }, namespace }: Ledger, taskName: string, { id, from, to, count, code, text }: MissedRange): Statement {
  return {
    text: `INSERT INTO ${tables.executions} (${slotColumns}, finished_at, error_code, error_text, missed_from, missed_count)
 SELECT namespace, ?, task_name, ?, 'cron', 'missed', 'scheduled', 0, 0, ?, ${nowMs}, definition_hash, ${nowMs}, ?, ?, ?, ? FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`,
    params: [id, to, to, code, text, from, count, namespace, taskName],
  }
}
