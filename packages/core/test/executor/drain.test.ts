import { setTimeout as sleep } from 'node:timers/promises'
import { proxyFor } from '@sched-dev/databases'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { realTime } from './real-time.ts'
import { both, runTogether, shortLease } from './scenarios.ts'

const tasks = (ms: number, everyMs = 1_000) => [{ name: 'job', options: { everyMs }, handler: { do: 'work', ms } as const }]

async function interrupted(cluster: Cluster): Promise<void> {
  // The lease is far longer than what the next boot may take to find the work; the grace is what its record may take.
  const options = { leaseMs: 20_000, heartbeatMs: 1_000, drainMs: 300, abortGraceMs: 5_000 }
  const leaving = cluster.instance({ options, tasks: tasks(60_000) })
  const first = await leaving.line(({ kind }) => kind === 'start', 60_000)
  const signalledAt = realTime()
  const exit = await leaving.child.kill('SIGTERM')
  // The signal does what it does without us, after the drain.
  expect(exit).toEqual({ code: null, signal: 'SIGTERM' })
  expect(realTime() - signalledAt).toBeLessThan(12_000)
  const row = (await cluster.executions('job')).find(({ fire_time }) => fire_time === first.fireTime)
  expect(row).toMatchObject({ state: 'retry', attempt: 0, attempt_reason: 'interrupted', crash_count: 0 })
  expect(await cluster.query(`SELECT gate_owner FROM sched_tasks`)).toEqual([{ gate_owner: null }])
  expect(await cluster.query(`SELECT state FROM sched_nodes`)).toEqual([{ state: 'dead' }])
  expect((await cluster.executions()).filter(({ state }) => state === 'running')).toEqual([])

  // The next boot takes it up: the same fire time, its attempt not charged, without waiting for a lease.
  const next = cluster.instance({ options, tasks: tasks(10) })
  const { at: startedAt } = await next.started()
  const again = await next.line((line) => line.kind === 'start' && line.fireTime === first.fireTime)
  expect(again.at - startedAt).toBeLessThan(options.leaseMs / 2)
  expect(again).toMatchObject({ attempt: 1, reason: 'interrupted' })
  expect(again.fencingToken).toBeGreaterThan(first.fencingToken as number)
}

async function finishes(cluster: Cluster): Promise<void> {
  const options = { ...shortLease, drainMs: 60_000 }
  const leaving = cluster.instance({ options, tasks: [{ name: 'job', options: { everyMs: 1_000 }, handler: { do: 'ignore', ms: 90_000 } }] })
  const first = await leaving.line(({ kind }) => kind === 'start', 60_000)
  const other = cluster.instance({ options, tasks: tasks(10) })
  await other.started()
  const exited = leaving.child.kill('SIGTERM')
  // Longer than the lease: without heartbeats during the drain another instance would take the run over.
  await sleep(2 * options.leaseMs)
  process.kill(leaving.child.pid, 'SIGUSR2')
  expect(await exited).toEqual({ code: null, signal: 'SIGTERM' })
  const rows = await cluster.executions('job')
  expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ state: 'succeeded', attempt: 1, crash_count: 0, owner: first.owner })
  expect(other.starts().filter(({ fireTime }) => fireTime === first.fireTime)).toEqual([])
  // No claim after the signal, no attempt left running, its node gone at once.
  expect(leaving.starts()).toHaveLength(1)
  const next = await other.line(({ kind }) => kind === 'start')
  expect(next.fireTime).toBeGreaterThan(first.fireTime as number)
}

async function pendingFireTime(cluster: Cluster): Promise<void> {
  const options = { leaseMs: 3_000, heartbeatMs: 500 }
  const first = cluster.instance({ options, tasks: tasks(5) })
  await first.line(({ kind }) => kind === 'end', 60_000)
  await first.child.kill('SIGTERM')
  await sleep(3_400)
  const second = cluster.instance({ options, tasks: tasks(5) })
  const missed = await second.event('slot.missed')
  expect(missed).toMatchObject({ task: 'job' })
  await cluster.until('the latest fire time is caught up', (rows) => rows.some(({ origin, state }) => origin === 'catchup' && state === 'succeeded'), 20_000)
}

async function deafHandler(cluster: Cluster): Promise<void> {
  // It records the interruption within a heartbeat, and then leaves.
  const options = { leaseMs: 20_000, heartbeatMs: 3_000, drainMs: 100, abortGraceMs: 100 }
  const leaving = cluster.instance({ options, tasks: [{ name: 'job', options: { everyMs: 1_000 }, handler: { do: 'ignore', ms: 60_000 } }] })
  const first = await leaving.line(({ kind }) => kind === 'start', 60_000)
  leaving.child.send('stop')
  await leaving.line(({ event }) => event === 'stopped')
  // Its code still runs: the gate stays as long as the lease, and no successor starts next to it before.
  expect((await cluster.query('SELECT gate_owner FROM sched_tasks'))[0]).toEqual({ gate_owner: first.owner })
  expect((await cluster.query('SELECT state FROM sched_nodes'))[0]).toEqual({ state: 'alive' })
  expect((await cluster.executions('job')).find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ state: 'retry', attempt_reason: 'interrupted' })
}

async function databaseAway(cluster: Cluster): Promise<void> {
  const proxy = await proxyFor(cluster.store.address)
  try {
    const options = { leaseMs: 8_000, heartbeatMs: 500, drainMs: 500, abortGraceMs: 500 }
    const leaving = cluster.instance({ address: proxy.url(cluster.store.address), options, tasks: tasks(60_000) })
    const first = await leaving.line(({ kind }) => kind === 'start', 60_000)
    proxy.blackhole()
    const signalledAt = realTime()
    expect(await leaving.child.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' })
    // Drain, grace, and one answer that does not come for each session; never for ever.
    expect(realTime() - signalledAt).toBeLessThan(20_000)
    expect(await leaving.line(({ kind }) => kind === 'end')).toMatchObject({ fireTime: first.fireTime, code: 'SCHED_TASK_INTERRUPTED' })
    // What it could not record, its lease does.
    const next = cluster.instance({ options, tasks: tasks(10) })
    expect(await next.line((line) => line.kind === 'start' && line.fireTime === first.fireTime, 40_000)).toMatchObject({ reason: 'recovered' })
  } finally {
    await proxy.close()
  }
}

runTogether([
  { title: 'P6: a stop while the database is away comes to an end, and its work is recovered by another', on: ['PostgreSQL'], run: databaseAway },
  { title: 'P6: SIGTERM interrupts what does not end in time: recorded, not charged, nothing left running, and taken up by the next boot at once', on: both, run: interrupted },
  { title: 'P6: a run that may finish during the drain does, its heartbeat going on to the last', on: both, run: finishes },
  { title: 'P6: a fire time that passed while nobody was there is caught up by the next boot', on: both, run: pendingFireTime },
  { title: 'P2: a handler that ignores the drain keeps its gate until the lease runs out', on: both, run: deafHandler },
])
