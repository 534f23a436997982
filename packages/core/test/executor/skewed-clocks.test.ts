import { shiftedClock } from '@sched-dev/databases'
import { expect } from 'vitest'
import { quantile } from '../endurance/tally.ts'
import type { Cluster } from './cluster.ts'
import { every, runTogether } from './scenarios.ts'

const seconds = 30

/** Issue 2: one instance 3 s ahead, one 3 s behind, a task so short that both could run it one after the other. */
async function skewed(cluster: Cluster): Promise<void> {
  // Beyond a heartbeat a slot is the scan's, which lets all of them run: so long that a loaded machine is not late by itself, and shorter than
  // the clocks are off.
  const config = { options: { leaseMs: 10_000, heartbeatMs: 2_000 }, tasks: [{ name: 'tick', options: { cron: '* * * * * *', misfire: 'run-all' as const }, handler: { do: 'work', ms: 5 } as const }] }
  const ahead = cluster.instance(config, shiftedClock(3_000))
  const behind = cluster.instance(config, shiftedClock(-3_000))
  await Promise.all([ahead.started(), behind.started()])
  // One row per fire time, and every second between the first and the last has one.
  const rows = await cluster.settled('tick', 1_000, { and: (found) => found.length >= seconds, limitMs: 3 * seconds * 1_000 })
  await Promise.all([ahead.stop(), behind.stop()])

  const last = rows.at(-1)?.['fire_time'] as number
  const starts = cluster.starts('tick').filter(({ fireTime }) => (fireTime as number) <= last)
  // One start per row. A run that a loaded machine delays may stand in the way of the next.
  const ran = rows.filter(({ error_code }) => error_code !== 'overlap')
  expect(ran.length).toBeGreaterThan(seconds - 5)
  expect(ran.map(({ state, attempt }) => ({ state, attempt }))).toEqual(ran.map(() => ({ state: 'succeeded', attempt: 1 })))
  expect(starts.map(({ fireTime }) => fireTime).sort()).toEqual(ran.map(({ fire_time }) => fire_time))
  // By the database's clock: nobody ran before its time because its own clock said so, and nobody is 3 s late.
  const lateMs = starts.map((start) => start.lateMs as number)
  expect(Math.min(...lateMs)).toBeGreaterThanOrEqual(0)
  expect(quantile(lateMs, 0.8)).toBeLessThan(1_000)
  // Tokens grow in the order of the starts.
  const tokens = starts.map(({ fencingToken }) => fencingToken as number)
  expect([...tokens].sort((a, b) => a - b)).toEqual(tokens)
  expect(cluster.journal.filter(({ event, error }) => event === 'node.lost' || (event === 'error' && (error as { code?: string }).code !== 'SCHED_QUERY_TIMEOUT'))).toEqual([])
}

runTogether([{ title: 'P1: with clocks 3 s ahead and 3 s behind, a 5 ms task each second has one ledger row and one start per fire time', on: every, run: skewed }])
