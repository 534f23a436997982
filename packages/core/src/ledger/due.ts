import { executionColumns, rowByHand, toExecution, type ExecutionRow } from './execution-row.ts'
import type { Ledger } from './ledger.ts'

/** A task of which something waits for a start. */
export interface DueTask {
  readonly taskName: string
  /** The longest wait, and the oldest fire time, of what waits. */
  readonly dueAt: number
  readonly fireTime: number
  /** A person asked for some of it. */
  readonly byHand: boolean
  /** An attempt holds the gate of the task: a look, no promise. */
  readonly gateTaken: boolean
  /** What waits, when it is one execution. */
  readonly only: ExecutionRow | undefined
  /** The latest slot of the schedule among it: its claimer died between slot and start, or it waits in a queue. */
  readonly latestSlot: number | null
  /** There is more than slots of the schedule. */
  readonly more: boolean
}

const slot = `e.state = 'pending' AND e.origin = 'scheduled'`
const columnsOfOnly = executionColumns.split(', ').map((column) => `MIN(e.${column}) AS ${column}`).join(', ')

/** The tasks of which something waits, slots of the schedule for at least `graceMs`. Longest wait first; one statement, however much it is. */
export async function dueTasks({ tables, sql: { nowMs, readHint }, store, namespace }: Ledger, graceMs: number): Promise<DueTask[]> {
  const { rows } = await store.run('looking for due executions', {
    text: `SELECT ${columnsOfOnly}, COUNT(*) AS waiting, COUNT(CASE WHEN ${slot} THEN 1 END) AS slots, MAX(CASE WHEN ${slot} THEN e.fire_time END) AS latest_slot,
 MAX(CASE WHEN ${rowByHand('e.')} THEN 1 ELSE 0 END) AS by_hand, MAX(CASE WHEN t.gate_owner IS NULL THEN 0 ELSE 1 END) AS gate_taken
 FROM ${tables.executions} e${readHint} JOIN ${tables.tasks} t${readHint} ON t.namespace = e.namespace AND t.task_name = e.task_name WHERE e.namespace = ? AND e.state IN ('pending', 'retry') AND e.due_at <= ${nowMs} AND (NOT (${slot}) OR e.due_at <= ${nowMs} - ?) GROUP BY e.task_name`,
    params: [namespace, graceMs],
  })
  return rows.map((row) => {
    const least = toExecution(row)
    const { taskName, dueAt, fireTime } = least
    const [waiting, slots] = [row['waiting'] as number, row['slots'] as number]
    return {
      taskName, dueAt, fireTime, byHand: row['by_hand'] === 1, gateTaken: row['gate_taken'] === 1,
      only: waiting === 1 ? least : undefined, latestSlot: row['latest_slot'] as number | null, more: waiting > slots,
    }
  }).sort((a, b) => a.dueAt - b.dueAt)
}

export interface DuePage {
  /** `no-slots`: without those of the schedule. `by-hand`: only what a person asked for. */
  readonly which: 'all' | 'no-slots' | 'by-hand'
  readonly most: number
  /** Of it, only slots of the schedule that wait for their first attempt. */
  readonly slotsOnly?: boolean
  /** The last row of the page before. */
  readonly after?: ExecutionRow | undefined
}

/** What of a task waits for a start, oldest fire time first. A candidate is no promise, the start decides. */
export async function dueExecutions({ tables, sql, store, namespace }: Ledger, taskName: string, { which, most, slotsOnly = false, after }: DuePage): Promise<ExecutionRow[]> {
  const only = { 'all': '', 'no-slots': ` AND (state = 'retry' OR origin <> 'scheduled')`, 'by-hand': ` AND ${rowByHand()}` }[which]
  const slots = slotsOnly ? ` AND state = 'pending' AND origin <> 'manual'` : ''
  const behind = after === undefined ? '' : ' AND (fire_time > ? OR (fire_time = ? AND execution_id > ?))'
  const { rows } = await store.run('looking for what of a task is due', {
    text: `SELECT ${executionColumns} FROM ${tables.executions}${sql.readHint} WHERE namespace = ? AND task_name = ? AND state IN ('pending', 'retry') AND due_at <= ${sql.nowMs}${only}${slots}${behind} ORDER BY fire_time, execution_id${sql.limit(most)}`,
    params: [namespace, taskName, ...(after === undefined ? [] : [after.fireTime, after.fireTime, after.executionId])],
  })
  return rows.map(toExecution)
}

// So many at once: the worker in hand has a task to run.
const mostGivenUp = 500

/** Pending slots of a task that are beyond the newest `most`, or older than `maxAgeMs`: oldest first. */
export async function beyondBounds({ tables, sql, store, namespace }: Ledger, taskName: string, { most, maxAgeMs }: { most: number; maxAgeMs: number }): Promise<string[]> {
  const pending = `WHERE namespace = ? AND task_name = ? AND state = 'pending' AND slot_key = 'cron'`
  const { rows: [row] } = await store.run('counting pending slots', {
    text: `SELECT COUNT(*) AS waiting, COUNT(CASE WHEN fire_time < ${sql.nowMs} - ? THEN 1 END) AS too_old FROM ${tables.executions}${sql.readHint} ${pending}`, params: [maxAgeMs, namespace, taskName],
  })
  const beyond = Math.max((row?.['waiting'] as number) - most, row?.['too_old'] as number)
  if (beyond <= 0) return []
  const { rows } = await store.run('looking for the oldest pending slots', {
    text: `SELECT execution_id FROM ${tables.executions}${sql.readHint} ${pending} ORDER BY fire_time, execution_id${sql.limit(Math.min(beyond, mostGivenUp))}`, params: [namespace, taskName],
  })
  return rows.map((found) => found['execution_id'] as string)
}

/** The executions of a task that run now. */
export async function runningExecutions({ tables, store, namespace }: Ledger, taskName: string): Promise<{ executionId: string; fireTime: number }[]> {
  const { rows } = await store.run('looking for running executions', {
    text: `SELECT execution_id, fire_time FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND state = 'running'`, params: [namespace, taskName],
  })
  return rows.map((row) => ({ executionId: row['execution_id'] as string, fireTime: row['fire_time'] as number }))
}
