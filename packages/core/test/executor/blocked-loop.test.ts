import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { allEnded } from './coverage.ts'
import { both, far, runTogether, shortLease } from './scenarios.ts'

// Three leases, and time for the other one to take over and run before the loop turns again.
const blockMs = 5 * shortLease.leaseMs

async function blocked(cluster: Cluster): Promise<void> {
  const config = { options: shortLease, tasks: [{ name: 'busy', options: { everyMs: 1_000 }, handler: { do: 'block', ms: blockMs } as const }] }
  const other = cluster.instance({ ...config, tasks: [{ name: 'busy', options: { everyMs: 1_000 }, handler: { do: 'block', ms: 5 } }] })
  await other.started()
  // They take turns: sooner or later a fire time is this one's. What it recovers from the other one does not block it.
  const blocker = cluster.instance(config)
  const first = await blocker.line(({ kind, attempt }) => kind === 'start' && attempt === 1, 60_000)
  const second = await other.line((line) => line.kind === 'start' && line.fireTime === first.fireTime)
  // The look that ended the loop's long turn: no timer has run, no socket has been read.
  expect(await blocker.line(({ kind }) => kind === 'look')).toMatchObject({ aborted: true, fireTime: first.fireTime })
  expect(await blocker.fenced(first)).toMatchObject({ fireTime: first.fireTime })
  expect(second).toMatchObject({ attempt: 2, reason: 'recovered' })
  const rows = await cluster.until('one success', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 10_000)
  expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ owner: second.owner, crash_count: 1 })
}

/** Alone: a loop blocked over many fire times claims not all of them when it turns again. */
async function notAllAtOnce(cluster: Cluster): Promise<void> {
  const everyMs = 1_000
  const only = cluster.instance({ options: { leaseMs: 20_000, heartbeatMs: 500 }, tasks: [
    { name: 'tick', options: { everyMs }, handler: { do: 'work', ms: 5 } },
    { name: 'busy', options: { everyMs: far }, handler: { do: 'block', ms: 7_000 } },
  ] })
  await only.line(({ kind, task }) => kind === 'end' && task === 'tick', 60_000)
  await cluster.makeDue('busy')
  const start = await only.line(({ kind, task }) => kind === 'start' && task === 'busy')
  const look = await only.line(({ kind, task }) => kind === 'look' && task === 'busy', 40_000)
  expect(look.aborted).toBe(false) // the lease was longer than that
  const rows = await cluster.settled('tick', everyMs, { and: (found) => found.some(({ origin, state }) => origin === 'catchup' && state === 'succeeded') && (found.at(-1)?.['fire_time'] as number) > look.at })
  await only.stop()
  // The fire times of the block: the last second's are still claimed, the latest of the others is caught up, and none of the rest runs. What
  // a loaded machine was late for afterwards may be split over two scans.
  const during = (fireTime: number): boolean => fireTime > start.at && fireTime < look.at
  const ran = rows.filter(({ state, fire_time }) => state === 'succeeded' && during(fire_time as number))
  expect(ran.length).toBeGreaterThanOrEqual(1)
  expect(ran.length).toBeLessThanOrEqual(3)
  const missed = rows.filter(({ missed_count, fire_time }) => missed_count !== null && during(fire_time as number))
  expect(missed.reduce((sum, { missed_count }) => sum + (missed_count as number), 0)).toBeGreaterThanOrEqual(3)
  expect(allEnded(await cluster.executions('busy'))).toBe(true)
  expect(only.events('node.lost')).toEqual([])
}

runTogether([
  { title: 'P5: a handler that blocked the event loop for three leases reads its signal as aborted at once, and is replaced and fenced', on: both, run: blocked },
  { title: 'P6: an event loop that was blocked over many fire times runs the latest of them, records the others, and keeps a lease that is longer', on: both, run: notAllAtOnce },
])
