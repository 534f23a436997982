import { setTimeout as sleep } from 'node:timers/promises'
import { proxyFor } from '@sched-dev/databases'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { runTogether, shortLease } from './scenarios.ts'

const { leaseMs } = shortLease

/** The COMMIT of the finish is done, its answer lost, and the database stays away until the lease is over. */
async function awayUntilTheLeaseIsOver(cluster: Cluster): Promise<void> {
  const proxy = await proxyFor(cluster.store.address)
  try {
    const only = cluster.instance({ address: proxy.url(cluster.store.address), options: shortLease, tasks: [{ name: 'job', options: { everyMs: 1_000 }, handler: { do: 'work', ms: 5 } }] })
    await only.line(({ kind }) => kind === 'end', 60_000)
    let finishing = false
    const happened = proxy.cutAfterClientBytes((bytes) => {
      if (bytes.includes('finished_at = ')) { finishing = true; return false }
      return finishing && bytes.includes('COMMIT')
    })
    await happened
    await proxy.refuse()
    proxy.cut()
    await sleep(2 * leaseMs)
    await proxy.heal()
    await only.line(({ event, at }) => event === 'node.registered' && at > only.events('node.lost')[0]!.at)
    await sleep(1_500)
    expect(only.events('execution.fenced')).toEqual([])
    const rows = await cluster.executions('job')
    // While its end is unknown the gate is taken: slots of that time are skipped.
    for (const { state, attempt } of rows.filter((row) => row['state'] !== 'missed' && row['error_code'] !== 'overlap')) expect({ state, attempt }).toEqual({ state: 'succeeded', attempt: 1 })
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
    const tasks = [{ name: 'job', options: { everyMs: 1_000, retry: { max: 1, backoffMs: 0 } }, handler: { do: 'transaction' } as const }]
    const only = cluster.instance({ address: proxy.url(cluster.store.address), options: { leaseMs: 4_000, heartbeatMs: 500 }, tasks })
    await only.line(({ kind }) => kind === 'end', 60_000)
    let guarded = false
    const happened = proxy[cut]((bytes) => {
      if (bytes.includes('finished_at = ')) { guarded = true; return false }
      return guarded && bytes.includes('COMMIT')
    })
    await happened
    await sleep(3_000)
    await only.stop()
    const rows = (await cluster.executions('job')).filter(({ error_code }) => error_code !== 'overlap')
    const effects = (await cluster.query('SELECT fire_time FROM effects ORDER BY fire_time')).map(({ fire_time }) => fire_time)
    // Both or neither: one effect for each success, none for anything else.
    expect(effects).toEqual(rows.filter(({ state }) => state === 'succeeded').map(({ fire_time }) => fire_time))
    expect(rows.map(({ state }) => state)).toEqual(rows.map(() => 'succeeded'))
    expect(Math.max(...rows.map(({ attempt }) => attempt as number))).toBe(cut === 'cutAfterClientBytes' ? 1 : 2)
    expect(only.events('execution.fenced')).toEqual([])
  } finally {
    await proxy.close()
  }
}

runTogether([
  { title: 'P7: a finish whose answer was lost for longer than the lease is read back, and not called fenced', on: ['PostgreSQL'], run: awayUntilTheLeaseIsOver },
  { title: 'P8: ctx.transaction whose COMMIT was done but not answered has succeeded, once', on: ['PostgreSQL'], run: (cluster) => transactionCommit(cluster, 'cutAfterClientBytes') },
  { title: 'P8: ctx.transaction whose COMMIT never arrived has written nothing, and is tried again', on: ['PostgreSQL'], run: (cluster) => transactionCommit(cluster, 'cutBeforeForward') },
])
