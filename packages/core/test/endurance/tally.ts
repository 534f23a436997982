import type { JournalLine } from '../executor/instance-config.ts'
import type { SqlRow } from '../../src/spi/sql-session.ts'

/** A kill, and the attempt that it hit. */
export interface Kill { readonly at: number; readonly pid: number; readonly fireTime: number; readonly owner: string }

/** What became of one task while it was watched. From the ledger: due, skipped, succeeded, missed. From the journals of the processes: the rest. */
export interface Tally {
  readonly due: number
  /** Slots that did not run and say why. */
  readonly skipped: number
  readonly succeeded: number
  /** Fire times without a row, or with one that neither succeeded nor says why it was skipped. */
  readonly missed: number
  /** Fire times that were started for the first time, or succeeded, twice, or had two attempts alive at once. */
  readonly duplicates: number
  /** Pairs of attempts of different fire times that were alive at once. */
  readonly overlaps: number
  /** From a kill to the next start, in ms. */
  readonly failoverMs: readonly number[]
  /** From a fire time to its first start, in ms; catch-ups and recoveries apart. */
  readonly lateMs: readonly number[]
}

/** What a run takes by itself. */
export const workMs = 400
// More than a lease may have left when a run begins, less a heartbeat.
const stalledMs = 1_000

interface Attempt { readonly fireTime: number; readonly from: number; readonly to: number }

/** `due`: the fire times of the task while it was watched. */
export function tally(due: readonly number[], rows: readonly SqlRow[], journal: readonly JournalLine[], kills: readonly Kill[]): Tally {
  const states = new Map(rows.map((row) => [row['fire_time'] as number, row['state'] as string]))
  const count = (state: string): number => due.filter((fireTime) => states.get(fireTime) === state).length
  const starts = journal.filter(({ kind }) => kind === 'start')
  const attempts = starts.map((start) => attemptOf(start, journal, kills))
  const together = pairs(attempts).filter(([a, b]) => a.from < b.to && b.from < a.to)
  const firsts = starts.filter(({ attempt }) => attempt === 1).map(({ fireTime }) => fireTime as number)
  const successes = journal.filter(({ event }) => event === 'execution.succeeded').map(({ fireTime }) => fireTime as number)
  return {
    due: due.length, skipped: count('skipped'), succeeded: count('succeeded'), missed: due.length - count('skipped') - count('succeeded'),
    duplicates: repeated(firsts) + repeated(successes) + together.filter(([a, b]) => a.fireTime === b.fireTime).length,
    overlaps: together.filter(([a, b]) => a.fireTime !== b.fireTime).length,
    failoverMs: kills.map(({ at }) => (starts.find((start) => start.at > at)?.at ?? Infinity) - at),
    lateMs: starts.filter(({ attempt, reason }) => attempt === 1 && reason === 'scheduled').map(({ lateMs }) => lateMs as number),
  }
}

function attemptOf(start: JournalLine, journal: readonly JournalLine[], kills: readonly Kill[]): Attempt {
  const end = journal.find(({ kind, owner }) => kind === 'end' && owner === start.owner)
  const kill = kills.find(({ owner }) => owner === start.owner)
  const to = end?.at ?? kill?.at ?? Infinity
  // A process that got no time until its lease was over says so only when it wakes; while its lease was certainly good it counts.
  const stalled = end?.code === 'SCHED_LEASE_LOST' && to - start.at > stalledMs
  return { fireTime: start.fireTime as number, from: start.at, to: stalled ? start.at + stalledMs : to }
}

function pairs<T>(all: readonly T[]): [T, T][] { return all.flatMap((a, index) => all.slice(index + 1).map((b): [T, T] => [a, b])) }

function repeated(values: readonly number[]): number { return values.length - new Set(values).size }

/** The smallest value that so much of the whole does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN
}

/** A row of the table in docs/guarantees.md. */
export function tableRow(product: string, { due, succeeded, skipped, duplicates, overlaps, missed, failoverMs, lateMs }: Tally): string {
  const times = (values: readonly number[]): string => [quantile(values, 0.5), quantile(values, 0.99), Math.max(...values)].map((ms) => Math.round(ms)).join(' / ')
  return `| ${product} | ${due} | ${succeeded} | ${skipped} | ${duplicates} | ${overlaps} | ${missed} | ${times(failoverMs)} | ${times(lateMs)} |`
}
