import { expect, vi } from 'vitest'
import { both, measured, runTogether, slackMs } from '../executor/scenarios.ts'
import type { Command } from './instance-config.ts'
import { lease, withPulse, type PulseCluster, type PulseInstance } from './pulse-instance.ts'

const { leaseMs, heartbeatMs } = lease

/** The thread goes away under a running attempt; the instance says so, comes back, and recovers it. */
async function recovers(instance: PulseInstance, command: Command, said: string): Promise<number> {
  const first = await instance.firstStart()
  const { nodeId } = await instance.started()
  await instance.event('heartbeat', first.at)
  const toldAt = performance.timeOrigin + performance.now()
  instance.tell(command)
  const lost = await instance.event('node.lost')
  expect(lost).toMatchObject({ nodeId, reason: { code: 'SCHED_LEASE_LOST', message: expect.stringContaining(said) as string } })
  expect(await instance.line(({ kind, aborted }) => kind === 'look' && aborted === true)).toMatchObject({ fireTime: first.fireTime })
  expect(await instance.event('execution.fenced')).toMatchObject({ fireTime: first.fireTime, owner: first.owner })
  expect((await instance.event('heartbeat.failed')).error).toMatchObject({ code: 'SCHED_LEASE_LOST', message: expect.stringContaining('worker thread') as string })
  expect((await instance.event('node.registered', lost.at)).nodeId).not.toBe(nodeId)
  const again = await instance.line((line) => line.kind === 'start' && line.fireTime === first.fireTime && line.attempt === 2)
  await instance.event('heartbeat', again.at)
  return lost.at - toldAt
}

function ends(command: Command): (pulse: PulseCluster) => Promise<void> {
  return async (pulse) => {
    const longLease = { leaseMs: 12_000, heartbeatMs: 1_000 }
    const instance = pulse.instance({ do: 'watch', ms: 60_000 }, longLease)
    const lostMs = await recovers(instance, command, 'worker thread')
    measured(`${pulse.cluster.store.product}: ${command}: the loss was known after`, lostMs)
    expect(lostMs).toBeLessThan(longLease.leaseMs / 2)
    expect(await instance.stop()).toBe(0)
  }
}

async function hangs(pulse: PulseCluster): Promise<void> {
  const instance = pulse.instance({ do: 'watch', ms: 60_000 })
  // It renews nothing and says nothing: the lease runs out here, and the thread is replaced.
  const lostMs = await recovers(instance, 'hang-thread', 'not renewed')
  expect(lostMs).toBeLessThan(leaseMs + heartbeatMs + slackMs)
  expect(await instance.stop()).toBe(0)
}

/** The thread ends again and again: each time another one follows. */
async function endsOften(pulse: PulseCluster): Promise<void> {
  const instance = pulse.instance({ do: 'block', ms: 0 }, {}, { everyMs: 60_000 })
  await instance.started()
  for (let count = 0, after = 0; count < 3; count += 1) {
    await instance.event('heartbeat', after)
    instance.tell('exit-thread')
    after = (await instance.event('node.lost', after)).at
    after = (await instance.event('node.registered', after)).at
  }
  expect(await instance.stop()).toBe(0)
  const nodes = await pulse.cluster.query(`SELECT state FROM sched_nodes WHERE namespace = 'test'`)
  expect(nodes.length).toBeGreaterThanOrEqual(4)
  expect(new Set(nodes.map(({ state }) => state))).toEqual(new Set(['dead']))
}

/** The server ends the thread's session: like any lost connection, it is opened again and the lease lives on. */
async function sessionEnded(pulse: PulseCluster): Promise<void> {
  const { cluster } = pulse
  const instance = pulse.instance({ do: 'watch', ms: 6_000 }, { leaseMs: 12_000 })
  const first = await instance.firstStart()
  const heartbeat = await instance.event('heartbeat', first.at)
  const kill = () => cluster.query(`SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE ? AND query LIKE '%lease_until%' OR (datname = current_database() AND application_name LIKE ? AND query ILIKE 'commit' AND state = 'idle')`, [`%:${instance.child.pid}`, `%:${instance.child.pid}`])
  // In the middle of a heartbeat it may show another statement.
  await vi.waitFor(async () => { expect((await kill()).length).toBeGreaterThanOrEqual(1) }, 4_000)
  await instance.event('heartbeat', heartbeat.at + 600)
  expect(await instance.event('execution.succeeded')).toMatchObject({ fireTime: first.fireTime, owner: first.owner, attempt: 1 })
  expect(instance.events('node.lost')).toEqual([])
  expect(await instance.stop()).toBe(0)
}

runTogether([
  { title: 'P5: a thread that is terminated loses the lease at once; another follows, and the execution is recovered', on: both, run: withPulse(ends('terminate-thread')) },
  { title: 'P5: a thread that ends itself loses the lease at once; another follows, and the execution is recovered', on: both, run: withPulse(ends('exit-thread')) },
  { title: 'P6: a thread that hangs loses the lease in time, is replaced, and the execution is recovered', on: ['PostgreSQL'], run: withPulse(hangs) },
  { title: 'P6: a thread that ends again and again is started again each time, and leaves no node that counts as alive', on: both, run: withPulse(endsOften) },
  { title: 'P5: a session of the thread that the server ends is opened again, and the lease lives on', on: ['PostgreSQL'], run: withPulse(sessionEnded) },
])
