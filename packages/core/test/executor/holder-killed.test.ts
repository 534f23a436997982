import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { realTime } from './real-time.ts'
import { both, measured, runTogether, shortLease, slackMs } from './scenarios.ts'

const far = 3_600_000
const limitMs = shortLease.leaseMs + shortLease.heartbeatMs + slackMs


async function killTheHolder(cluster: Cluster): Promise<void> {
  const config = { options: shortLease, tasks: [{ name: 'job', options: { everyMs: 1_000 }, handler: { do: 'work', ms: far } as const }] }
  const holder = cluster.instance(config)
  await holder.started()
  const first = await holder.line(({ kind }) => kind === 'start')
  const successor = cluster.instance(config)
  await successor.started()
  await new Promise((resolve) => setTimeout(resolve, 2 * shortLease.heartbeatMs))
  expect(successor.starts()).toEqual([])

  const killedAt = realTime()
  await holder.child.kill()
  const second = await successor.line(({ kind }) => kind === 'start', limitMs + 5_000)
  const tookMs = second.at - killedAt
  measured(`${cluster.store.product}: takeover after SIGKILL (lease ${shortLease.leaseMs} + heartbeat ${shortLease.heartbeatMs})`, tookMs)
  expect(tookMs).toBeLessThan(limitMs)
  // The interrupted fire time is the first that runs again: with a larger token, never before the old lease was over.
  expect(second).toMatchObject({ fireTime: first.fireTime, attempt: (holder.starts().at(-1)?.attempt ?? 0) + 1, reason: 'recovered' })
  expect(second.fencingToken).toBeGreaterThan(first.fencingToken as number)
  expect(second.owner).not.toBe(first.owner)
  expect(await cluster.query('SELECT state FROM sched_nodes ORDER BY started_at')).toEqual([{ state: 'dead' }, { state: 'alive' }])
  expect((await cluster.executions('job')).filter(({ state }) => state === 'running')).toHaveLength(1)
}

async function poison(cluster: Cluster): Promise<void> {
  const config = { options: shortLease, tasks: [{ name: 'bomb', options: { everyMs: 1_000 }, handler: { do: 'die', times: 99 } as const }] }
  // Each attempt kills its process; a supervisor starts the next.
  for (let lives = 0; lives < 12; lives += 1) {
    const instance = cluster.instance(config)
    await instance.child.exited
    if ((await cluster.executions('bomb')).some(({ error_code }) => error_code === 'SCHED_TASK_POISON')) break
  }
  const [row] = (await cluster.executions('bomb')).filter(({ error_code }) => error_code === 'SCHED_TASK_POISON')
  expect(row).toMatchObject({ state: 'failed', crash_count: 3 })
}

async function recoveryFail(cluster: Cluster): Promise<void> {
  const config = { options: shortLease, tasks: [{ name: 'job', options: { everyMs: 1_000, recovery: 'fail' as const }, handler: { do: 'work', ms: far } as const }] }
  const holder = cluster.instance(config)
  const { fireTime } = await holder.line(({ kind }) => kind === 'start', 60_000)
  const successor = cluster.instance(config)
  await successor.started()
  await holder.child.kill()
  const rows = await cluster.until('the crashed attempt fails', (found) => found.some(({ fire_time, state }) => fire_time === fireTime && state === 'failed'), limitMs + 5_000)
  expect(rows.find(({ fire_time }) => fire_time === fireTime)).toMatchObject({ error_code: 'SCHED_LEASE_LOST', crash_count: 1, attempt: 1 })
  // The task itself goes on with its next fire time.
  const next = await successor.line(({ kind }) => kind === 'start')
  expect(next.fireTime).toBeGreaterThan(fireTime as number)
}

runTogether([
  { title: 'P6: a holder killed with SIGKILL is replaced within lease + heartbeat, its execution recovered under a larger token', on: both, run: killTheHolder },
  { title: 'P6: an execution that kills its process three times ends as poison', on: ['SQLite'], run: poison },
  { title: 'P6: with recovery "fail" a crashed execution fails, and the next fire time runs', on: both, run: recoveryFail },
])
