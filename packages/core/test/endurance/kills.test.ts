import { describe, expect } from 'vitest'
import type { Cluster } from '../executor/cluster.ts'
import { allEnded, silentTimes } from '../executor/coverage.ts'
import { realTime } from '../executor/real-time.ts'
import { runTogether } from '../executor/scenarios.ts'
import { Crowd, crowdLease } from './crowd.ts'
import { tableRow, tally, workMs } from './tally.ts'

const size = 10
const everyMs = 1_000
const killEveryMs = 5_000
const runMs = 60_000
const failoverLimitMs = crowdLease.leaseMs + crowdLease.heartbeatMs + 2_000

async function survive(cluster: Cluster): Promise<void> {
  const crowd = new Crowd(cluster, { options: { ...crowdLease, drainMs: 2_000 }, tasks: [{ name: 'tick', options: { everyMs, retry: { max: 9, backoffMs: 100 } }, handler: { do: 'work', ms: workMs } }] })
  await crowd.start(size)
  const from = realTime()
  const kills = await crowd.keepKilling('tick', killEveryMs, runMs)
  const to = realTime()
  const due = Array.from({ length: Math.floor(to / everyMs) - Math.ceil(from / everyMs) }, (_, index) => (Math.ceil(from / everyMs) + index) * everyMs)
  // The last one killed has a successor too, and what a busy machine was late for is settled.
  await cluster.until('nothing is open', (rows) => {
    const watched = rows.filter(({ fire_time }) => (fire_time as number) <= (due.at(-1) as number))
    return allEnded(watched) && silentTimes(watched, everyMs).length === 0 && watched.at(-1)?.['fire_time'] === due.at(-1)
  }, failoverLimitMs + 10_000)
  await crowd.stop()

  const rows = await cluster.executions('tick')
  const found = tally(due, rows, cluster.journal, kills)
  process.stdout.write(`measured: ${tableRow(cluster.store.product, found)}\n`)
  expect(kills.length).toBe(runMs / killEveryMs - 1)
  expect(found).toMatchObject({ duplicates: 0, overlaps: 0, missed: 0 })
  expect(Math.max(...found.failoverMs)).toBeLessThanOrEqual(failoverLimitMs)
  // What a kill interrupted runs again, under a larger token. On a busy machine a run may have ended before the signal came.
  const interrupted = kills.filter(({ owner }) => !cluster.journal.some((line) => line.kind === 'end' && line.owner === owner))
  expect(interrupted.length).toBeGreaterThanOrEqual(kills.length / 2)
  for (const { fireTime, owner } of interrupted) {
    const lines = cluster.starts('tick').filter((line) => line.fireTime === fireTime)
    const killed = lines.findIndex((line) => line.owner === owner)
    expect(killed).toBeGreaterThanOrEqual(0)
    expect(lines.length).toBeGreaterThan(killed + 1)
    // An attempt whose instance stood still between its start and its handler has no line.
    expect(lines.at(-1)?.attempt).toBe(rows.find((row) => row['fire_time'] === fireTime)?.['attempt'])
    for (const [index, line] of lines.entries()) {
      expect(line.reason).toBe(line.attempt === 1 ? 'scheduled' : 'recovered')
      expect(line.attempt).toBeGreaterThan(lines[index - 1]?.attempt ?? 0)
      expect(line.fencingToken).toBeGreaterThan(lines[index - 1]?.fencingToken ?? 0)
    }
  }
  for (const row of rows) if (row['state'] === 'skipped') expect(['overlap', 'superseded']).toContain(row['error_code'])
  // Those that nobody killed have nothing to report, unless the machine kept their database from answering in time.
  for (const { error } of cluster.journal.filter(({ event }) => event === 'error')) expect(['SCHED_QUERY_TIMEOUT', 'SCHED_DATABASE_UNREACHABLE', 'SCHED_SESSION_LOST', 'SCHED_LEASE_LOST', 'SCHED_CONTENDED']).toContain((error as { code?: string }).code)
  expect(cluster.journal.filter(({ event }) => event === 'warning' || event === 'execution.failed' || event === 'task.stuck')).toEqual([])
}

const title = 'P1, P2, P6: ten instances for a minute, the running one killed every five seconds: no fire time doubled, overlapped or lost'

// Forty processes at once would measure the machine.
for (const products of [['SQLite', 'PostgreSQL'], ['MySQL', 'MariaDB']] as const) {
  describe(`kills, ${products.join(' and ')}`, () => { runTogether([{ title, on: products, run: survive }]) })
}
