import { randomUUID } from 'node:crypto'
import { errorClassOf } from '../session/classified-error.ts'
import type { Schedule } from '../schedule/schedule.ts'
import type { SqlSession } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'
import { slotsBetween } from './missed.ts'
import { newestSlot } from './outermost-slots.ts'
import { nobodyClaimed, rangeRecord } from './range-record.ts'
import type { StoredTask } from './stored-task.ts'

// A second's schedule for six days, in a tenth of a second; beyond it the record says "at least".
const mostCounted = 500_000
// A scan settles a hole within seconds, and retention deletes nothing so young.
const unsettledMs = 3_600_000

/** Why fire times were written off by a person or a deployment, as the record's code. */
export type WriteOffCode = 'paused' | 'stalled' | 'retired' | 'redefined'

/**
 * Records the fire times of the stored schedule that nobody claimed until `stored.dbNow`, inside the transaction that moves `armed_from`
 * there: those behind the newest slot are not missed, and not silently gone either; those before it were missed, and no scan will find them.
 */
export async function writeOff(ledger: Ledger, stored: StoredTask, schedule: Schedule, why: { code: WriteOffCode; text: string }, sql: SqlSession): Promise<void> {
  const { rows: [row] } = await sql.run({ text: newestSlot(ledger, { upTo: true }), params: [ledger.namespace, stored.taskName, stored.dbNow] })
  const newest = row?.['fire_time'] as number | undefined ?? -Infinity
  const holes = await holesBefore(newest, ledger, stored, schedule, sql)
  if (holes.length > 0) {
    await sql.run(rangeRecord(ledger, stored.taskName, { id: randomUUID(), from: holes[0] as number, to: holes.at(-1) as number, count: holes.length, ...nobodyClaimed }))
  }
  const range = firedBetween(schedule, Math.max(stored.armedFrom, newest), stored.dbNow)
  if (range === null) return
  const { first, last, count } = range
  const text = count < mostCounted ? why.text : `${why.text} There were at least as many.`
  await sql.run(rangeRecord(ledger, stored.taskName, { id: randomUUID(), from: first, to: last, count, code: why.code, text }))
}

async function holesBefore(newest: number, ledger: Ledger, { taskName, armedFrom, dbNow }: StoredTask, schedule: Schedule, sql: SqlSession): Promise<readonly number[]> {
  const after = Math.max(armedFrom, dbNow - unsettledMs)
  const first = schedule.next(after)
  if (first === null || first >= newest) return []
  const settled = await slotsBetween(ledger, taskName, first, newest, sql)
  const holes: number[] = []
  for (let at: number | null = first; at !== null && at < newest; at = schedule.next(at)) if (!settled.has(at)) holes.push(at)
  return holes
}

function firedBetween(schedule: Schedule, after: number, until: number): { first: number; last: number; count: number } | null {
  const first = schedule.next(after)
  const last = schedule.previous(until)
  if (first === null || last === null || first > last) return null
  let count = 1
  for (let next = schedule.next(first); next !== null && next <= last && count < mostCounted; next = schedule.next(next)) count += 1
  return { first, last, count }
}

/** A slot that was claimed between the look and the record is a duplicate key, once: the next look sees it. */
export async function lookingAgain<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (errorClassOf(error) !== 'duplicate-key') throw error
    return work()
  }
}
