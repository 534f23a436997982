import { setTimeout as sleep } from 'node:timers/promises'
import { proxyFor } from '@sched-dev/databases'
import { expect, vi } from 'vitest'
import type { Cluster } from './cluster.ts'
import { realTime } from './real-time.ts'
import { measured, runTogether, servers, shortLease, slackMs } from './scenarios.ts'

const { leaseMs, heartbeatMs } = shortLease
const limitMs = leaseMs + heartbeatMs + slackMs
const longLease = { leaseMs: 12_000, heartbeatMs: 500 }
const watch = (ms: number, options: { everyMs: number }) => [{ name: 'job', options, handler: { do: 'watch', ms } as const }]

/** All sessions of one instance, as the server names them. */
async function terminate(cluster: Cluster, pid: number): Promise<number> {
  const rows = await cluster.query(`SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'sched:test:%' AND application_name LIKE ?`, [`%:${pid}`])
  return rows.length
}

async function backendsTerminated(cluster: Cluster): Promise<void> {
  const config = { options: longLease, tasks: watch(10_000, { everyMs: 1_000 }) }
  const holder = cluster.instance(config)
  const other = cluster.instance(config)
  await Promise.all([holder.started(), other.started()])
  const first = await Promise.race([holder, other].map((instance) => instance.line(({ kind }) => kind === 'start')))
  const running = holder.starts().length > 0 ? holder : other
  for (let times = 0; times < 5; times += 1) {
    // The heartbeat's session at least, once it has been opened again; the other one is when it is needed.
    await vi.waitFor(async () => { expect(await terminate(cluster, running.child.pid)).toBeGreaterThanOrEqual(1) }, 5_000)
    await sleep(600)
  }
  await running.line(({ kind, fireTime }) => kind === 'end' && fireTime === first.fireTime)
  const rows = await cluster.until('it succeeds', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 20_000)
  expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ attempt: 1, crash_count: 0, owner: first.owner })
  expect(cluster.starts('job').filter(({ fireTime }) => fireTime === first.fireTime)).toHaveLength(1)
  expect(cluster.journal.filter(({ event }) => event === 'node.lost' || event === 'execution.fenced')).toEqual([])
}

async function connectionsCut(cluster: Cluster): Promise<void> {
  const proxy = await proxyFor(cluster.store.address)
  try {
    const only = cluster.instance({ address: proxy.url(cluster.store.address), options: longLease, tasks: watch(50, { everyMs: 1_000 }) })
    await only.line(({ kind }) => kind === 'end', 60_000)
    for (let times = 0; times < 8; times += 1) {
      await sleep(437)
      proxy.cut()
    }
    await sleep(2_500)
    // A finish that was cut off and is written again may still hold the gate when the next slot comes.
    const rows = await cluster.settled('job', 1_000)
    await only.stop()
    expect(only.events('node.lost')).toEqual([])
    expect(rows.filter(({ state }) => state === 'failed')).toEqual([])
    for (const { fire_time } of rows) expect(only.starts().filter(({ fireTime }) => fireTime === fire_time).length).toBeLessThanOrEqual(1)
    // A statement that was cut off is an error event with a code and never silence.
    for (const { error } of only.events('error')) expect((error as { code?: string }).code).toMatch(/^SCHED_/)
  } finally {
    await proxy.close()
  }
}

async function blackholed(cluster: Cluster): Promise<void> {
  const proxy = await proxyFor(cluster.store.address)
  try {
    const holder = cluster.instance({ address: proxy.url(cluster.store.address), options: shortLease, tasks: watch(60_000, { everyMs: 1_000 }) })
    const first = await holder.line(({ kind }) => kind === 'start', 60_000)
    const successor = cluster.instance({ options: shortLease, tasks: watch(500, { everyMs: 1_000 }) })
    await successor.started()
    const cutOffAt = realTime()
    proxy.blackhole()
    const [look, second] = await Promise.all([
      holder.line((line) => line.kind === 'look' && line.fireTime === first.fireTime && line.aborted === true),
      successor.line((line) => line.kind === 'start' && line.fireTime === first.fireTime, limitMs + 5_000),
    ])
    measured(`${cluster.store.product}: takeover after the network went dark (lease ${leaseMs} + heartbeat ${heartbeatMs})`, second.at - cutOffAt)
    measured(`${cluster.store.product}: the holder's signal aborted after`, look.at - cutOffAt)
    expect(second.at - cutOffAt).toBeLessThan(limitMs)
    // P2: no look of the old holder at its signal finds it good once the successor has started. It looks every 20 ms; the time that this look
    // says was lost, the process did not get.
    expect(look.at - (look.lostMs as number)).toBeLessThan(second.at)
    await proxy.heal()
    expect(await holder.fenced(first)).toMatchObject({ fireTime: first.fireTime })
    const rows = await cluster.until('the successor succeeds', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 15_000)
    expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ owner: second.owner })
    expect(holder.events('node.lost').filter((line, index, all) => all.findIndex(({ nodeId }) => nodeId === line.nodeId) !== index)).toEqual([])
  } finally {
    await proxy.close()
  }
}

runTogether([
  { title: 'P6: terminated backends are replaced within the lease: the run goes on, once', on: ['PostgreSQL'], run: backendsTerminated },
  { title: 'P6: connections cut again and again cost no run, no lease and no silence', on: servers, run: connectionsCut },
  { title: 'P2: a holder cut off from the database has its signal aborted before its successor starts, within lease + heartbeat', on: servers, run: blackholed },
])
