import { setTimeout as sleep } from 'node:timers/promises'
import { proxyFor } from '@sched-dev/databases'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { commitAfter, successStatement } from './commit-after.ts'
import { realTime } from './real-time.ts'
import { runTogether, servers, shortLease } from './scenarios.ts'

const { leaseMs } = shortLease
const everyMs = 1_000

function within(happened: Promise<void>): Promise<void> {
  return Promise.race([happened, sleep(20_000).then(() => { throw new Error('no statement was cut') })])
}

/** The COMMIT of the finish is done, its answer lost, and the database stays away until the lease is over. */
async function awayUntilTheLeaseIsOver(cluster: Cluster): Promise<void> {
  const proxy = await proxyFor(cluster.store.address)
  try {
    const only = cluster.instance({ address: proxy.url(cluster.store.address), options: shortLease, tasks: [{ name: 'job', options: { everyMs }, handler: { do: 'work', ms: 5 } }] })
    await only.line(({ kind }) => kind === 'end', 60_000)
    await within(proxy.cutAfterClientBytes(commitAfter(successStatement)))
    const awayAt = realTime()
    await proxy.refuse()
    proxy.cut()
    await sleep(2 * leaseMs)
    await proxy.heal()
    const { at: lostAt } = await only.line(({ event, at }) => event === 'node.lost' && at > awayAt)
    const { at: backAt } = await only.line(({ event, at }) => event === 'node.registered' && at > lostAt)
    // While its end is unknown the gate is taken: slots of that time are skipped, and the one that is caught up waits.
    const rows = await cluster.settled('job', everyMs, { and: (found) => (found.at(-1)?.['fire_time'] as number) > backAt })
    await only.stop()
    expect(only.events('execution.fenced')).toEqual([])
    for (const { state, attempt } of rows.filter((row) => row['state'] !== 'missed' && row['state'] !== 'skipped')) expect({ state, attempt }).toEqual({ state: 'succeeded', attempt: 1 })
    const starts = only.starts().map(({ fireTime }) => fireTime)
    expect(new Set(starts).size).toBe(starts.length)
    // The outcome of each that ended is told, the late one too.
    expect(only.events('execution.succeeded').map(({ fireTime }) => fireTime).sort()).toEqual([...starts].sort())
  } finally {
    await proxy.close()
  }
}

type Cut = 'cutAfterClientBytes' | 'cutBeforeForward'

async function transactionCommit(cluster: Cluster, cut: Cut): Promise<void> {
  await cluster.query('CREATE TABLE effects (fire_time BIGINT NOT NULL, attempt BIGINT NOT NULL, pid BIGINT NOT NULL)')
  const proxy = await proxyFor(cluster.store.address)
  try {
    const tasks = [{ name: 'job', options: { everyMs, retry: { max: 1, backoffMs: 0 } }, handler: { do: 'transaction' } as const }]
    const only = cluster.instance({ address: proxy.url(cluster.store.address), options: { leaseMs: 10_000, heartbeatMs: 2_000 }, tasks })
    await only.line(({ kind }) => kind === 'end', 60_000)
    await within(proxy[cut](commitAfter(successStatement)))
    const cutAt = realTime()
    const settled = await cluster.settled('job', everyMs, { and: (found) => (found.at(-1)?.['fire_time'] as number) > cutAt })
    await only.stop()
    const [first, last] = [settled[0], settled.at(-1)].map((row) => row?.['fire_time'] as number) as [number, number]
    const rows = (await cluster.executions('job')).filter(({ state, fire_time }) => state !== 'skipped' && state !== 'missed' && (fire_time as number) <= last)
    const effects = (await cluster.query('SELECT fire_time FROM effects ORDER BY fire_time')).map(({ fire_time }) => fire_time as number).filter((fireTime) => fireTime >= first && fireTime <= last)
    // Both or neither: one effect for each success, none for anything else.
    expect(effects).toEqual(rows.filter(({ state }) => state === 'succeeded').map(({ fire_time }) => fire_time))
    expect(rows.map(({ state }) => state)).toEqual(rows.map(() => 'succeeded'))
    const hit = only.starts().filter(({ at }) => at < cutAt).at(-1)
    expect(rows.find(({ fire_time }) => fire_time === hit?.fireTime)).toMatchObject({ attempt: cut === 'cutAfterClientBytes' ? 1 : 2 })
    expect(only.events('execution.fenced')).toEqual([])
  } finally {
    await proxy.close()
  }
}

runTogether([
  { title: 'P7: a finish whose answer was lost for longer than the lease is read back, and not called fenced', on: servers, run: awayUntilTheLeaseIsOver },
  { title: 'P8: ctx.transaction whose COMMIT was done but not answered has succeeded, once', on: servers, run: (cluster) => transactionCommit(cluster, 'cutAfterClientBytes') },
  { title: 'P8: ctx.transaction whose COMMIT never arrived has written nothing, and is tried again', on: servers, run: (cluster) => transactionCommit(cluster, 'cutBeforeForward') },
])
