import { setTimeout as sleep } from 'node:timers/promises'
import { proxyFor } from '@sched-dev/databases'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { runTogether } from './scenarios.ts'

const options = { leaseMs: 2_000, heartbeatMs: 400 }
const tick = [{ name: 'tick', options: { everyMs: 1_000 }, handler: { do: 'work', ms: 5 } as const }]

async function afterwards(cluster: Cluster): Promise<void> {
  await sleep(4_000)
  const rows = await cluster.settled('tick', 1_000)
  await Promise.all(cluster.instances.map((instance) => instance.stop()))
  expect(rows.filter(({ state }) => state === 'failed')).toEqual([])
  // First starts: a run that the outage cut off is recovered.
  const starts = cluster.starts('tick').filter(({ attempt }) => attempt === 1).map(({ fireTime }) => fireTime)
  expect(new Set(starts).size).toBe(starts.length)
  // P10: an outage is reported, by code, and never as somebody else's success.
  const errors = cluster.journal.filter(({ event }) => event === 'error')
  expect(errors.length).toBeGreaterThan(0)
  for (const { error } of errors) expect((error as { code?: string }).code).toMatch(/^SCHED_(DATABASE_UNREACHABLE|SESSION_LOST|QUERY_TIMEOUT|CONTENDED|RESOURCE_EXHAUSTED|LEASE_LOST|STATEMENT_FAILED)$/)
  // A life ends once.
  const lost = cluster.journal.filter(({ event }) => event === 'node.lost').map(({ nodeId }) => nodeId)
  expect(new Set(lost).size).toBe(lost.length)
}

async function unreachable(cluster: Cluster, how: 'refuse' | 'blackhole'): Promise<void> {
  const proxy = await proxyFor(cluster.store.address)
  try {
    const instances = [1, 2].map(() => cluster.instance({ address: proxy.url(cluster.store.address), options, tasks: tick }))
    await Promise.all(instances.map((instance) => instance.started()))
    await sleep(1_500)
    if (how === 'refuse') {
      await proxy.refuse()
      proxy.cut()
    } else {
      proxy.blackhole()
    }
    // 20 s at the tick: many fire times, ten leases.
    await sleep(20_000)
    await proxy.heal()
    await cluster.until('it goes on', (found) => {
      const newest = found.filter(({ state, origin }) => state === 'succeeded' && origin === 'scheduled').at(-1)?.['fire_time'] as number
      return newest > Date.now() - 5_000
    }, 40_000)
    await afterwards(cluster)
    expect((await cluster.executions('tick')).some(({ state }) => state === 'missed')).toBe(true)
  } finally {
    await proxy.close()
  }
}

runTogether([
  { title: 'P10: a database that refuses connections for 20 s costs the fire times in between and nothing else, and every one has a row', on: ['PostgreSQL'], run: (cluster) => unreachable(cluster, 'refuse') },
  { title: 'P10: a network that is dark for 20 s costs the fire times in between and nothing else, and every one has a row', on: ['PostgreSQL'], run: (cluster) => unreachable(cluster, 'blackhole') },
])
