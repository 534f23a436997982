import { expect, it, onTestFinished, vi } from 'vitest'
import { isSchedError } from '../../src/errors.ts'
import type { LockCapabilities } from '../../src/spi/capabilities.ts'
import type { Dialect } from '../../src/spi/dialect.ts'
import { emptySqlite } from '../ledger/store-ground.ts'
import { Cluster } from './cluster.ts'
import { execute } from './driver-client.ts'
import type { LocalOptions } from './local-node.ts'

// One after the other: these hold the event loop, which is everybody's in this process.

async function opened(): Promise<Cluster> {
  const cluster = new Cluster(await emptySqlite())
  onTestFinished(() => cluster.end())
  return cluster
}

function holdTheLoop(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

it('P5: no transaction commits once the lease is over, although nothing has had a chance to say so', async () => {
  const cluster = await opened()
  await cluster.query('CREATE TABLE effects (what VARCHAR(40) NOT NULL)')
  const node = cluster.node({ leaseMs: 1_200 })
  const codes: unknown[] = []
  node.scheduler.task('job', { everyMs: 1_000 }, async (ctx) => {
    if (codes.length > 0) return
    try {
      await ctx.transaction(async (client) => {
        await execute(client, `INSERT INTO effects (what) VALUES ('late')`)
        holdTheLoop(1_300)
      })
    } catch (error) { codes.push((error as { code?: unknown }).code); throw error }
  })
  await node.scheduler.start()
  const fenced = await node.event('execution.fenced', () => codes.length > 0)
  expect(codes).toEqual(['SCHED_LEASE_LOST'])
  expect(await cluster.query('SELECT what FROM effects')).toEqual([])
  expect(node.events('execution.succeeded').filter(({ owner }) => owner === fenced.owner)).toEqual([])
}, 60_000)

it('P5: nothing is begun under a lease that is over: ctx.transaction and ctx.guarded refuse at their first look', async () => {
  const cluster = await opened()
  const node = cluster.node({ leaseMs: 1_200 })
  const thrown: unknown[] = []
  node.scheduler.task('job', { everyMs: 1_000 }, async (ctx) => {
    if (thrown.length > 0) return
    holdTheLoop(1_300)
    let entered = false
    for (const begin of ['transaction', 'guarded'] as const) await ctx[begin](() => { entered = true }).catch((error: unknown) => { thrown.push(error) })
    expect(entered).toBe(false)
  })
  await node.scheduler.start()
  await node.event('execution.fenced', () => thrown.length > 0)
  expect(thrown.map((error) => isSchedError(error, 'SCHED_LEASE_LOST'))).toEqual([true, true])
}, 60_000)

/** The facts of a source whose servers' clocks may disagree, as of a distributed database. */
function withUncertainty(dialect: Dialect, clockUncertaintyMs: number): Dialect {
  const capabilities: LockCapabilities = { ...dialect.locks.capabilities, clockUncertaintyMs }
  return { ...dialect, locks: { ...dialect.locks, capabilities, probe: async (options) => ({ ...await dialect.locks.probe(options), capabilities }) } }
}

it.each<[string, LocalOptions]>([['off', { lockVeto: 'off' }], ['auto', { lockVeto: 'auto' }]])('P9: what the servers\' clocks may disagree by shortens the lease as its holder sees it, with the veto %s', async (_, options) => {
  const cluster = await opened()
  // Lease 4 s, margin 1 s: good for 3 s; with 1.5 s of uncertainty for 1.5 s.
  const node = cluster.node({ leaseMs: 4_000, heartbeatMs: 300, ...options }, withUncertainty(cluster.store.connect(), 1_500))
  let aborted: boolean | undefined
  node.scheduler.task('job', { everyMs: 1_000 }, ({ signal }) => {
    if (aborted !== undefined) return
    holdTheLoop(2_200)
    aborted = signal.aborted
  })
  await node.scheduler.start()
  await vi.waitFor(() => { expect(aborted).toBe(true) }, 30_000)
}, 60_000)
