import type { SqlSession } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'

/** What a scan is to settle: the fire times of one task in `(from, to]`, computed from its schedule. */
export interface MissedRequest {
  readonly taskName: string
  readonly definitionHash: string
  /** `armed_from` as it was when the fire times were computed; another scan in between makes this one void. */
  readonly armedFrom: number
  readonly fireTimes: readonly number[]
  /** Picks the missed slots that run now. Gets the holes, oldest first. */
  readonly catchUp: (holes: readonly number[]) => readonly number[]
  /** True when holes stall the task. */
  readonly stall: boolean
  readonly newId: () => string
}

export interface MissedOutcome {
  readonly missed: number
  /** The slots that run now. */
  readonly caughtUp: readonly number[]
  readonly stalled: boolean
}

/** Where the search for holes begins: everything at or before it is settled. */
export async function settledUntil({ tables, store, namespace }: Ledger, taskName: string, armedFrom: number, oldest: number): Promise<number> {
  const { rows: [row] } = await store.run('looking for the last settled slot', {
    text: `SELECT MAX(CASE WHEN fire_time <= ? THEN fire_time END) AS older, MAX(fire_time) AS newest FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND slot_key = 'cron'`,
    params: [oldest, namespace, taskName],
  })
  const older = row?.['older'] as number | null | undefined
  if (older !== null && older !== undefined) return Math.max(armedFrom, older)
  // Older rows may have been removed by retention, but never the newest one: no row at all means that nothing ever ran.
  return row?.['newest'] === null || row === undefined ? armedFrom : Math.max(armedFrom, oldest)
}

/**
 * Settles the fire times that nobody claimed, in one transaction that locks the task's row first, so that the scans of a task are
 * serial and two nodes never choose differently. The chosen slots become pending `catchup`s, all others one range record, and
 * `armed_from` moves behind them, so that no late node claims what was written off. Null when another scan was faster.
 */
export function settleMissed(ledger: Ledger, request: MissedRequest): Promise<MissedOutcome | null> {
  return ledger.store.block('settling missed slots', async (sql) => {
    const value = await settle(ledger, request, sql)
    return { commit: value !== null, value }
  })
}

async function settle(ledger: Ledger, request: MissedRequest, sql: SqlSession): Promise<MissedOutcome | null> {
  const { tables, sql: { nowMs, lockRow, lockHint = '' }, namespace } = ledger
  const { taskName, fireTimes } = request
  const first = fireTimes[0]
  const last = fireTimes.at(-1)
  if (first === undefined || last === undefined) return null
  const { rows: [task] } = await sql.run({
    text: `SELECT armed_from FROM ${tables.tasks}${lockHint} WHERE namespace = ? AND task_name = ? AND state = 'active' AND definition_hash = ?${lockRow}`, params: [namespace, taskName, request.definitionHash],
  })
  if (task?.['armed_from'] !== request.armedFrom) return null

  const { rows } = await sql.run({
    text: `SELECT fire_time FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND slot_key = 'cron' AND fire_time BETWEEN ? AND ?`, params: [namespace, taskName, first, last],
  })
  const settled = new Set(rows.map((row) => row['fire_time'] as number))
  const holes = fireTimes.filter((fireTime) => !settled.has(fireTime))
  const caughtUp = request.catchUp(holes)
  const missed = holes.filter((fireTime) => !caughtUp.includes(fireTime))
  const stalled = request.stall && holes.length > 0

  await sql.run(stalled
    ? { text: `UPDATE ${tables.tasks} SET armed_from = ?, state = 'stalled', state_reason = ? WHERE namespace = ? AND task_name = ?`, params: [last, `${holes.length} fire times were missed`, namespace, taskName] }
    : { text: `UPDATE ${tables.tasks} SET armed_from = ? WHERE namespace = ? AND task_name = ?`, params: [last, namespace, taskName] })
  const columns = `namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash`
  if (missed.length > 0) {
    await sql.run({
      text: `INSERT INTO ${tables.executions} (${columns}, finished_at, error_code, error_text, missed_from, missed_count) SELECT namespace, ?, task_name, ?, 'cron', 'missed', 'scheduled', 0, 0, ?, ${nowMs}, definition_hash, ${nowMs}, 'missed', ?, ?, ? FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`,
      params: [request.newId(), missed.at(-1) as number, missed.at(-1) as number, 'no instance claimed these fire times in time.', missed[0] as number, missed.length, namespace, taskName],
    })
  }
  for (const fireTime of caughtUp) {
    await sql.run({
      text: `INSERT INTO ${tables.executions} (${columns}) SELECT namespace, ?, task_name, ?, 'cron', 'pending', 'catchup', 0, 0, ${nowMs}, ${nowMs}, definition_hash FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`,
      params: [request.newId(), fireTime, namespace, taskName],
    })
  }
  return { missed: missed.length, caughtUp, stalled }
}
