import { setTimeout as sleep } from 'node:timers/promises'
import { shiftedClock } from '@sched-dev/databases'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { both, runTogether } from './scenarios.ts'

const seconds = 30

/** Issue 2: one instance 3 s ahead, one 3 s behind, a task so short that both could run it one after the other. */
async function skewed(cluster: Cluster): Promise<void> {
  const config = { options: { leaseMs: 3_000, heartbeatMs: 500 }, tasks: [{ name: 'tick', options: { cron: '* * * * * *' }, handler: { do: 'work', ms: 5 } as const }] }
  const ahead = cluster.instance(config, shiftedClock(3_000))
  const behind = cluster.instance(config, shiftedClock(-3_000))
  await Promise.all([ahead.started(), behind.started()])
  await sleep(seconds * 1_000 + 500)
  await Promise.all([ahead.stop(), behind.stop()])

  const rows = await cluster.executions('tick')
  const starts = cluster.starts('tick')
  expect(rows.length).toBeGreaterThanOrEqual(seconds - 1)
  // One row and one start per fire time, and every second between the first and the last has one.
  const fireTimes = rows.map(({ fire_time }) => fire_time as number)
  expect(fireTimes).toEqual(Array.from({ length: rows.length }, (_, index) => (fireTimes[0] as number) + index * 1_000))
  expect(rows.map(({ state, attempt, origin }) => ({ state, attempt, origin }))).toEqual(rows.map(() => ({ state: 'succeeded', attempt: 1, origin: 'scheduled' })))
  expect(starts.map(({ fireTime }) => fireTime).sort()).toEqual(fireTimes)
  // By the database's clock: nobody ran before its time because its own clock said so, and nobody 3 s late.
  for (const { lateMs } of starts) {
    expect(lateMs).toBeGreaterThanOrEqual(0)
    expect(lateMs).toBeLessThan(1_000)
  }
  // Tokens grow in the order of the starts.
  const tokens = starts.map(({ fencingToken }) => fencingToken as number)
  expect([...tokens].sort((a, b) => a - b)).toEqual(tokens)
  expect(cluster.journal.filter(({ event }) => event === 'error' || event === 'node.lost')).toEqual([])
}

runTogether([{ title: 'P1: with clocks 3 s ahead and 3 s behind, a 5 ms task each second has one ledger row and one start per fire time', on: both, run: skewed }])
