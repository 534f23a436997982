import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { both, runTogether, shortLease } from './scenarios.ts'

const { leaseMs } = shortLease

async function blocked(cluster: Cluster): Promise<void> {
  const config = { options: shortLease, tasks: [{ name: 'busy', options: { everyMs: 1_000 }, handler: { do: 'block', ms: 3 * leaseMs } as const }] }
  const other = cluster.instance({ ...config, tasks: [{ name: 'busy', options: { everyMs: 1_000 }, handler: { do: 'block', ms: 5 } }] })
  await other.started()
  // They take turns: sooner or later a fire time is this one's.
  const blocker = cluster.instance(config)
  const first = await blocker.line(({ kind }) => kind === 'start', 60_000)
  const second = await other.line((line) => line.kind === 'start' && line.fireTime === first.fireTime)
  // The look that ended the loop's long turn: no timer has run, no socket has been read.
  expect(await blocker.line(({ kind }) => kind === 'look')).toMatchObject({ aborted: true, fireTime: first.fireTime })
  expect(await blocker.event('execution.fenced')).toMatchObject({ fireTime: first.fireTime, owner: first.owner })
  expect(second).toMatchObject({ attempt: 2, reason: 'recovered' })
  const rows = await cluster.until('one success', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 10_000)
  expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ owner: second.owner, crash_count: 1 })
}

/** Alone: a loop blocked over many fire times claims not all of them when it turns again. */
async function notAllAtOnce(cluster: Cluster): Promise<void> {
  const only = cluster.instance({ options: { leaseMs: 12_000, heartbeatMs: 500 }, tasks: [
    { name: 'tick', options: { everyMs: 1_000 }, handler: { do: 'work', ms: 5 } },
    { name: 'busy', options: { everyMs: 60_000 * 60 }, handler: { do: 'block', ms: 5_000 } },
  ] })
  await only.line(({ kind, task }) => kind === 'end' && task === 'tick', 60_000)
  await cluster.query(`INSERT INTO sched_executions (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash) SELECT namespace, 'x', task_name, 1, 'cron', 'pending', 'catchup', 0, 0, 1, 1, definition_hash FROM sched_tasks WHERE task_name = 'busy'`)
  const look = await only.line(({ kind, task }) => kind === 'look' && task === 'busy')
  expect(look.aborted).toBe(false) // the lease was longer than that
  await sleep(3_500)
  await only.stop()
  const rows = await cluster.executions('tick')
  expect(rows.filter(({ state }) => state === 'missed')).toMatchObject([{ missed_count: expect.toSatisfy((count: number) => count >= 2 && count <= 4) as number }])
  // It runs, unless the slot of that very moment is running: then it says so.
  const caughtUp = rows.filter(({ origin }) => origin === 'catchup')
  expect(caughtUp).toHaveLength(1)
  expect(['succeeded null', 'skipped overlap']).toContain(`${caughtUp[0]?.['state'] as string} ${String(caughtUp[0]?.['error_code'])}`)
  const covered = rows.reduce((sum, { missed_count }) => sum + ((missed_count as number | null) ?? 1), 0)
  const [first, last] = [rows[0]?.['missed_from'] ?? rows[0]?.['fire_time'], rows.at(-1)?.['fire_time']] as [number, number]
  expect(covered).toBe((last - first) / 1_000 + 1)
  expect(only.events('node.lost')).toEqual([])
}

runTogether([
  { title: 'P5: a handler that blocked the event loop for three leases reads its signal as aborted at once, and is replaced and fenced', on: both, run: blocked },
  { title: 'P6: an event loop that was blocked over many fire times runs the latest of them, records the others, and keeps a lease that is longer', on: both, run: notAllAtOnce },
])
