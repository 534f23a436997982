import { fireTimes } from '@sched/core'
import type { SqlSession } from '@sched/core/spi'
import type { JournalLine } from './journal.ts'

export interface Tally {
  /** Fire times of the schedule while the demo ran. */
  readonly due: number
  /** Slots that did not run and say why (`overlap`: the previous run's gate was not free yet). */
  readonly skipped: number
  readonly expected: number
  readonly fired: number
  /** Fire times with two successes, or with two attempts alive at once. */
  readonly duplicates: number
  /** Fire times without a row, or still open at the end. */
  readonly missed: number
  /** Pairs of attempts of different fire times whose leases were both valid. */
  readonly overlaps: number
  readonly takeoverMs: number
  /** Attempts of a woken or late holder whose write was refused. */
  readonly fenced: number
}

/** From the ledger: what was due, what was skipped for a reason, what succeeded, what is missing. */
export async function readLedger(session: SqlSession, namespace: string, from: number, to: number): Promise<Pick<Tally, 'due' | 'skipped' | 'expected' | 'fired' | 'missed'>> {
  const due = fireTimes('* * * * * *', { after: new Date(from), count: Math.ceil((to - from) / 1000) + 1 }).map((date) => date.getTime()).filter((fireTime) => fireTime <= to)
  const { rows } = await session.run({ text: `SELECT fire_time, state, missed_from FROM ${tables.executions} WHERE namespace = ? AND task_name = 'tick'`, params: [namespace] })
  const states = new Map(rows.map((row) => [row['fire_time'] as number, row['state'] as string]))
  const count = (...wanted: string[]): number => due.filter((fireTime) => wanted.includes(states.get(fireTime) ?? 'none')).length
  const skipped = count('skipped')
  return { due: due.length, skipped, expected: due.length - skipped, fired: count('succeeded'), missed: count('none', 'pending', 'running', 'retry', 'missed', 'failed') }
}

export async function forget(session: SqlSession, namespace: string): Promise<void> {
  for (const table of Object.values(tables)) await session.run({ text: `DELETE FROM ${table} WHERE namespace = ?`, params: [namespace] })
}

const tables = { executions: 'sched_executions', tasks: 'sched_tasks', nodes: 'sched_nodes', meta: 'sched_meta' }

interface Attempt { readonly fireTime: number; readonly node: number; readonly from: number; readonly to: number }

/** From the journals: was anything alive twice? An attempt is alive from its start to its end, at most until its lease was over. */
export function readJournals(lines: readonly JournalLine[], killed: { node: number; at: number } | undefined, goodForMs: number): Pick<Tally, 'duplicates' | 'overlaps' | 'fenced' | 'takeoverMs'> {
  const attempts = lines.filter((line) => line.kind === 'start').map((start): Attempt => {
    const end = lines.find((line) => line.kind === 'end' && line.node === start.node && line.token === start.token)
    const stopped = killed?.node === start.node && start.at <= killed.at ? killed.at : Infinity
    const to = Math.min(end?.at ?? Infinity, stopped, leaseEnd(lines, start.node, start.at, end?.at ?? Infinity, goodForMs))
    return { fireTime: start.fireTime, node: start.node, from: start.at, to }
  })
  const pairs = attempts.flatMap((a, index) => attempts.slice(index + 1).filter((b) => a.from < b.to && b.from < a.to).map((b) => a.fireTime === b.fireTime))
  const successes = new Map<number, number>()
  for (const line of lines) if (line.kind === 'written') successes.set(line.fireTime, (successes.get(line.fireTime) ?? 0) + 1)
  const twice = [...successes.values()].filter((count) => count > 1).length
  const successor = killed === undefined ? undefined : attempts.find((attempt) => attempt.from > killed.at && attempt.node !== killed.node)
  return {
    duplicates: twice + pairs.filter((same) => same).length,
    overlaps: pairs.filter((same) => !same).length,
    fenced: lines.filter((line) => line.kind === 'fenced').length,
    takeoverMs: killed === undefined || successor === undefined ? 0 : successor.from - killed.at,
  }
}

/** When the lease behind an attempt was over by its own node's clock: `goodForMs` after the last heartbeat in an unbroken row. */
function leaseEnd(lines: readonly JournalLine[], node: number, start: number, end: number, goodForMs: number): number {
  const beats = lines.filter((line) => line.node === node && (line.kind === 'beat' || line.kind === 'started') && line.at <= end).map((line) => line.at)
  let last = beats.filter((at) => at <= start).at(-1) ?? start
  for (const at of beats) if (at > last && at - last <= goodForMs) last = at
  return last + goodForMs
}
