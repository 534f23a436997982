import { setTimeout as sleep } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { both, measured, runTogether } from '../executor/scenarios.ts'
import { withPulse, type PulseCluster } from './pulse-instance.ts'

async function leavesNothing(pulse: PulseCluster): Promise<void> {
  const { cluster } = pulse
  // Nothing is to be reported: what a loaded machine keeps waiting must not be late by itself.
  const instance = pulse.instance({ do: 'watch', ms: 600 }, { leaseMs: 12_000, heartbeatMs: 3_000 })
  const { nodeId } = await instance.started()
  await instance.line(({ kind }) => kind === 'start')
  await sleep(100)
  instance.tell('stop')
  const { code, signal } = await instance.child.exited
  const exitedAt = performance.timeOrigin + performance.now()
  expect({ code, signal, stderr: instance.child.stderr }).toEqual({ code: 0, signal: null, stderr: '' })
  const { at: endedAt } = await instance.line(({ kind }) => kind === 'ended')
  measured(`${cluster.store.product}: the process ended after stop() by`, exitedAt - endedAt)
  // The heartbeat came last: what ran could finish, and the ledger knows that the node has left.
  const rows = await cluster.executions('job')
  expect(rows.filter(({ state }) => state === 'running')).toEqual([])
  expect(rows.filter(({ state }) => state === 'succeeded').length).toBeGreaterThanOrEqual(1)
  expect(await cluster.query(`SELECT node_id, state FROM sched_nodes WHERE namespace = 'test'`)).toEqual([{ node_id: nodeId, state: 'dead' }])
  expect([...instance.events('node.lost'), ...instance.events('error')]).toEqual([])
  if (cluster.store.product === 'PostgreSQL') {
    // The server notices a moment after the client has gone.
    const sessions = () => cluster.query('SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE ?', [`%:${instance.child.pid}`])
    await vi.waitFor(async () => { expect(await sessions()).toEqual([]) }, 20_000)
  }
}

/** Stopped while no thread lives. */
async function betweenThreads(pulse: PulseCluster): Promise<void> {
  const instance = pulse.instance({ do: 'block', ms: 0 }, {}, { everyMs: 60_000 })
  await instance.started()
  instance.tell('terminate-thread')
  await instance.event('node.lost')
  expect(await instance.stop()).toBe(0)
  expect(await pulse.cluster.query(`SELECT node_id FROM sched_nodes WHERE namespace = 'test' AND state = 'alive'`)).toEqual([])
}

runTogether([
  { title: 'P6: stop() lets what runs finish, retires the node, and no thread, session or handle keeps the process alive', on: both, run: withPulse(leavesNothing) },
  { title: 'P6: stop() while a thread is being replaced retires the node and ends the process', on: both, run: withPulse(betweenThreads) },
])
