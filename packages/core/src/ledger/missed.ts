import type { SqlSession, Statement } from '../spi/sql-session.ts'
import { batches } from './batches.ts'
import { slotColumns } from './execution-row.ts'
import type { Ledger } from './ledger.ts'
import { newestSlot } from './outermost-slots.ts'
import { nobodyClaimed, rangeRecord } from './range-record.ts'

/** What a scan is to settle: the fire times of one task up to `until`, computed from its schedule. */
export interface MissedRequest {
  readonly taskName: string
  readonly definitionHash: string
  /** `armed_from` as it was when the fire times were computed; another scan in between makes this one void. */
  readonly armedFrom: number
  /** Ascending. */
  readonly fireTimes: readonly number[]
  /** The fire times before them that are too many to list: the first, and how many there are. */
  readonly before?: { readonly from: number; readonly count: number } | undefined
  /** Slots up to here that were claimed and never started are holes as well. Undefined: they wait in the task's queue. */
  readonly orphansUntil?: number | undefined
  /** Picks the missed slots that run now. Gets the holes, oldest first. */
  readonly catchUp: (holes: readonly number[]) => readonly number[]
  /** True when holes that do not run stall the task. */
  readonly stall: boolean
  readonly newId: () => string
}

export interface MissedOutcome {
  readonly missed: number
  /** The slots that run now. */
  readonly caughtUp: readonly number[]
  readonly stalled: boolean
  /** Later slots are left for another scan, so that none takes longer than a block may. */
  readonly more: boolean
}

// Far from the time limit of a block on a slow link, and from any server's number of parameters and of SELECTs in a UNION.
const mostCaughtUp = 500
const batch = 250
const page = 5000

/**
 * Where the search for holes begins: everything at or before `from` is settled. `newest`: the last slot that has a row; retention never
 * deletes it, so that what is later has never run.
 */
export async function settledUntil(ledger: Ledger, taskName: string, armedFrom: number, oldest: number): Promise<{ from: number; newest: number }> {
  const { sql, store, namespace } = ledger
  const { rows: [row] } = await store.run('looking for the last settled slot', {
    text: `SELECT (${newestSlot(ledger, { upTo: true })}) AS older, (${newestSlot(ledger)}) AS newest${sql.dual}`,
    params: [namespace, taskName, oldest, namespace, taskName],
  })
  const older = row?.['older'] as number | null | undefined
  const newest = row?.['newest'] as number | null | undefined ?? -Infinity
  // Older rows may have been removed by retention, but never the newest one: no row at all means that nothing ever ran.
  const settled = older ?? (newest === -Infinity ? -Infinity : oldest)
  return { from: Math.max(armedFrom, settled), newest }
}

/**
 * The fire times from the first one without a row on; none where all have theirs. A task that fires each second and has run for a day
 * has too many rows to be read while its own row is locked.
 */
export async function fromFirstHole({ tables, sql, store, namespace }: Ledger, taskName: string, fireTimes: readonly number[]): Promise<readonly number[]> {
  const last = fireTimes.length - 1
  for (let index = 0; index <= last;) {
    const { rows } = await store.run('looking for the first missed slot', {
      text: `SELECT fire_time FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND slot_key = 'cron' AND fire_time BETWEEN ? AND ? ORDER BY fire_time${sql.limit(page)}`,
      params: [namespace, taskName, fireTimes[index] as number, fireTimes[last] as number],
    })
    const settled = new Set(rows.map((row) => row['fire_time'] as number))
    while (index <= last && settled.has(fireTimes[index] as number)) index += 1
    if (index > last) break
    if (rows.length < page || (fireTimes[index] as number) <= (rows.at(-1)?.['fire_time'] as number)) return fireTimes.slice(index)
  }
  return []
}

/**
 * Settles the fire times that nobody claimed, and slots that were claimed and not started, in one transaction that locks the task's row
 * first, so that the scans of a task are serial and two nodes never choose differently. The chosen slots become pending `catchup`s, all
 * other fire times one range record, and `armed_from` moves behind them, so that no late node claims what was written off. `overtaken`:
 * the task's row is no longer what the fire times were computed from. A row that somebody holds is not waited for again: the other tasks
 * are waiting too.
 */
export function settleMissed(ledger: Ledger, request: MissedRequest): Promise<MissedOutcome | 'overtaken'> {
  return ledger.store.block('settling missed slots', async (sql) => {
    const value = await settle(ledger, request, sql)
    return { commit: value !== 'overtaken', value }
  }, { answer: 'lock-timeout' })
}

async function settle(ledger: Ledger, request: MissedRequest, sql: SqlSession): Promise<MissedOutcome | 'overtaken'> {
  const { tables, sql: { lockRow, lockHint = '' }, namespace } = ledger
  const { taskName, fireTimes, before, orphansUntil } = request
  const key = [namespace, taskName]
  const first = before?.from ?? fireTimes[0]
  const last = fireTimes.at(-1)
  if (orphansUntil === undefined && last === undefined) return { missed: 0, caughtUp: [], stalled: false, more: false }
  const { rows: [task] } = await sql.run({
    text: `SELECT armed_from FROM ${tables.tasks}${lockHint} WHERE namespace = ? AND task_name = ? AND state = 'active' AND definition_hash = ?${lockRow}`, params: [...key, request.definitionHash],
  })
  if (task?.['armed_from'] !== request.armedFrom) return 'overtaken'

  const settled = first === undefined || last === undefined ? new Set<number>() : await slotsBetween(ledger, taskName, first, last, sql)
  const orphans = orphansUntil === undefined ? new Map<number, string>() : await orphanedSlots(ledger, taskName, orphansUntil, sql)
  const unclaimed = fireTimes.filter((fireTime) => !settled.has(fireTime))
  const holes = orphans.size === 0 ? unclaimed : [...unclaimed, ...orphans.keys()].sort((a, b) => a - b)
  const chosen = request.catchUp(holes)
  const more = chosen.length > mostCaughtUp
  const reached = more ? chosen[mostCaughtUp - 1] as number : Infinity
  const caughtUp = chosen.slice(0, mostCaughtUp)
  const runs = new Set(caughtUp)
  const written = holes.filter((fireTime) => fireTime <= reached && !runs.has(fireTime))
  const record = written.filter((fireTime) => !orphans.has(fireTime))
  const uncounted = before === undefined ? 0 : Math.max(0, before.count - [...settled].filter((fireTime) => fireTime < (fireTimes[0] as number)).length)
  const missed = written.length + uncounted
  const stalled = request.stall && missed > 0

  const armedFrom = Math.max(request.armedFrom, Math.min(last ?? -Infinity, reached))
  await sql.run(stalled
    ? { text: `UPDATE ${tables.tasks} SET armed_from = ?, state = 'stalled', state_reason = ? WHERE namespace = ? AND task_name = ?`, params: [armedFrom, `${missed} fire times were missed`, ...key] }
    : { text: `UPDATE ${tables.tasks} SET armed_from = ? WHERE namespace = ? AND task_name = ?`, params: [armedFrom, ...key] })
  if (record.length > 0) {
    await sql.run(rangeRecord(ledger, taskName, {
      id: request.newId(), from: before?.from ?? record[0] as number, to: record.at(-1) as number, count: record.length + uncounted, ...nobodyClaimed,
    }))
  }
  const idsOf = (times: readonly number[]): string[] => times.flatMap((fireTime) => orphans.get(fireTime) ?? [])
  for (const ids of batches(idsOf(written), batch)) await sql.run(giveUpStatement(ledger, ids))
  for (const ids of batches(idsOf(caughtUp), batch)) await sql.run(lateStatement(ledger, ids))
  for (const times of batches(caughtUp.filter((fireTime) => !orphans.has(fireTime)), batch)) {
    await sql.run(catchUpStatement(ledger, taskName, times.map((fireTime) => ({ id: request.newId(), fireTime }))))
  }
  return { missed, caughtUp, stalled, more }
}

/** Fire times that have a row of their own. */
export async function slotsBetween({ tables, namespace }: Ledger, taskName: string, first: number, last: number, sql: SqlSession): Promise<Set<number>> {
  const { rows } = await sql.run({
    text: `SELECT fire_time FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND slot_key = 'cron' AND fire_time BETWEEN ? AND ?`, params: [namespace, taskName, first, last],
  })
  return new Set(rows.map((row) => row['fire_time'] as number))
}

/** Slots whose claimer has not started them, by fire time: it died in between, or the task was not to run then. */
async function orphanedSlots({ tables, namespace }: Ledger, taskName: string, until: number, sql: SqlSession): Promise<Map<number, string>> {
  const { rows } = await sql.run({
    text: `SELECT fire_time, execution_id FROM ${tables.executions} WHERE namespace = ? AND task_name = ? AND state = 'pending' AND fire_time <= ? AND slot_key = 'cron' AND origin = 'scheduled'`, params: [namespace, taskName, until],
  })
  return new Map(rows.map((row) => [row['fire_time'] as number, row['execution_id'] as string]))
}

function catchUpStatement({ tables, sql: { nowMs, dual }, namespace }: Ledger, taskName: string, slots: readonly { id: string; fireTime: number }[]): Statement {
  // Arithmetic with an integer makes the parameter one: in a UNION PostgreSQL takes what it does not know for text.
  const one = `SELECT ? AS execution_id, ${nowMs} * 0 + ? AS fire_time${dual}`
  return {
    text: `INSERT INTO ${tables.executions} (${slotColumns}) SELECT t.namespace, c.execution_id, t.task_name, c.fire_time, 'cron', 'pending', 'catchup', 0, 0, ${nowMs}, ${nowMs}, t.definition_hash FROM (${slots.map(() => one).join(' UNION ALL ')}) c, ${tables.tasks} t WHERE t.namespace = ? AND t.task_name = ?`,
    params: [...slots.flatMap(({ id, fireTime }) => [id, fireTime]), namespace, taskName],
  }
}

/** Orphans that run after all, unless somebody has started them meanwhile. */
function lateStatement({ tables, namespace }: Ledger, ids: readonly string[]): Statement {
  return { text: `UPDATE ${tables.executions} SET origin = 'catchup' WHERE namespace = ? AND state = 'pending' AND execution_id IN (${marks(ids)})`, params: [namespace, ...ids] }
}

/** pending → missed */
function giveUpStatement({ tables, sql: { nowMs }, namespace }: Ledger, ids: readonly string[]): Statement {
  return {
    text: `UPDATE ${tables.executions} SET state = 'missed', finished_at = ${nowMs}, error_code = 'missed', error_text = ? WHERE namespace = ? AND state = 'pending' AND execution_id IN (${marks(ids)})`,
    params: ['the instance that claimed this fire time did not start it, and it is too late now.', namespace, ...ids],
  }
}

const marks = (values: readonly unknown[]): string => values.map(() => '?').join(', ')
