import type { SqlRow } from '../../src/spi/sql-session.ts'

const ends: readonly unknown[] = ['succeeded', 'failed', 'skipped', 'missed']

/** Nothing of it runs or waits. */
export function allEnded(rows: readonly SqlRow[]): boolean { return rows.every(({ state }) => ends.includes(state)) }

/** Fire times of one task, between the first and the last, that have no row of their own and that no range record counts. */
export function silentTimes(rows: readonly SqlRow[], everyMs: number): number[] {
  const own = new Set(rows.filter(({ missed_count }) => missed_count === null).map(({ fire_time }) => fire_time as number))
  const times = (from: number, to: number): number[] => Array.from({ length: (to - from) / everyMs + 1 }, (_, index) => from + index * everyMs)
  // Between two that a record counts there may be some that ran.
  const counted = rows.filter(({ missed_count }) => missed_count !== null).flatMap(({ missed_from, fire_time, missed_count }) => {
    const without = times(missed_from as number, fire_time as number).filter((fireTime) => !own.has(fireTime))
    return without.length === missed_count ? without : []
  })
  const covered = new Set([...own, ...counted])
  return covered.size === 0 ? [] : times(Math.min(...covered), Math.max(...covered)).filter((fireTime) => !covered.has(fireTime))
}
