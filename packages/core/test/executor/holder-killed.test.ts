import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { realTime } from './real-time.ts'
import { every, far, measured, runTogether, shortLease, slackMs } from './scenarios.ts'

async function killTheHolder(cluster: Cluster): Promise<void> {
  // No fire time falls into the takeover: a slot that comes at the same moment may win the gate. The lease is long enough that the holder does
  // not lose it while so many boot at once.
  const options = { leaseMs: 6_000, heartbeatMs: 1_000 }
  const config = { options, tasks: [{ name: 'job', options: { everyMs: far }, handler: { do: 'work', ms: 3_600_000 } as const }] }
  const holder = cluster.instance(config)
  const { nodeId } = await holder.started()
  await cluster.makeDue('job')
  const first = await holder.line(({ kind }) => kind === 'start')
  const successor = cluster.instance(config)
  await successor.started()
  await new Promise((resolve) => setTimeout(resolve, 2 * options.heartbeatMs))
  expect(successor.starts()).toEqual([])

  const killedAt = realTime()
  await holder.child.kill()
  const second = await successor.line(({ kind }) => kind === 'start')
  const tookMs = second.at - killedAt
  measured(`${cluster.store.product}: takeover after SIGKILL (lease ${options.leaseMs} + heartbeat ${options.heartbeatMs})`, tookMs)
  expect(tookMs).toBeLessThan(options.leaseMs + options.heartbeatMs + slackMs)
  // The interrupted fire time is the first that runs again: with a larger token, never before the old lease was over.
  expect(second).toMatchObject({ fireTime: first.fireTime, attempt: (holder.starts().at(-1)?.attempt ?? 0) + 1, reason: 'recovered' })
  expect(second.fencingToken).toBeGreaterThan(first.fencingToken as number)
  expect(second.owner).not.toBe(first.owner)
  expect(await cluster.query('SELECT state FROM sched_nodes WHERE node_id = ?', [nodeId as string])).toEqual([{ state: 'dead' }])
  expect((await cluster.executions('job')).filter(({ state }) => state === 'running')).toHaveLength(1)
}

async function poison(cluster: Cluster): Promise<void> {
  const config = { options: shortLease, tasks: [{ name: 'bomb', options: { everyMs: far }, handler: { do: 'die', times: 99 } as const }] }
  // Each attempt kills its process; a supervisor starts the next.
  for (let lives = 1; lives <= 3; lives += 1) {
    const instance = cluster.instance(config)
    if (lives === 1) {
      await instance.started()
      await cluster.makeDue('bomb')
    }
    await instance.child.exited
  }
  const last = cluster.instance(config)
  const rows = await cluster.until('it ends', (found) => found.every(({ state }) => state === 'failed'), 60_000, 'bomb')
  expect(rows).toMatchObject([{ error_code: 'SCHED_TASK_POISON', crash_count: 3 }])
  expect(last.starts()).toEqual([])
}

async function recoveryFail(cluster: Cluster): Promise<void> {
  const config = { options: shortLease, tasks: [{ name: 'job', options: { everyMs: 1_000, recovery: 'fail' as const }, handler: { do: 'work', ms: 3_600_000 } as const }] }
  const holder = cluster.instance(config)
  const { fireTime } = await holder.line(({ kind }) => kind === 'start', 60_000)
  const successor = cluster.instance(config)
  await successor.started()
  await holder.child.kill()
  const rows = await cluster.until('the crashed attempt fails', (found) => found.some(({ fire_time, state }) => fire_time === fireTime && state === 'failed'), 20_000)
  expect(rows.find(({ fire_time }) => fire_time === fireTime)).toMatchObject({ error_code: 'SCHED_LEASE_LOST', crash_count: 1, attempt: 1 })
  // The task itself goes on with its next fire time.
  const next = await successor.line(({ kind }) => kind === 'start')
  expect(next.fireTime).toBeGreaterThan(fireTime as number)
}

runTogether([
  { title: 'P6: a holder killed with SIGKILL is replaced within lease + heartbeat, its execution recovered under a larger token', on: every, run: killTheHolder },
  { title: 'P6: an execution that kills its process three times ends as poison', on: ['SQLite'], run: poison },
  { title: 'P6: with recovery "fail" a crashed execution fails, and the next fire time runs', on: every, run: recoveryFail },
])
