import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import type { Cluster } from './cluster.ts'
import { allEnded } from './coverage.ts'
import { onStores } from './on-stores.ts'

const everyMs = 1_000
// A slot that is later than a heartbeat is the scan's; so long that a loaded machine is not late by itself while it takes up its work.
const patient = { leaseMs: 12_000, heartbeatMs: 3_000 }
const awayMs = patient.heartbeatMs + 4_300

onStores((scenario) => {
  async function clock(cluster: Cluster): Promise<number> { return (await cluster.query(`SELECT ${cluster.nowMs} AS t`))[0]?.['t'] as number }

  /** All instances are away for a while; then one boots, with a task that has missed some fire times. */
  async function outage(cluster: Cluster, options: TaskOptions) {
    const before = cluster.node()
    before.scheduler.task('job', options, () => {})
    await before.scheduler.start()
    await before.event('execution.succeeded')
    await before.scheduler.stop()
    const stoppedAt = await clock(cluster)
    await sleep(awayMs)
    const after = cluster.node(patient)
    after.scheduler.task('job', options, () => {})
    await after.scheduler.start()
    return { after, stoppedAt }
  }

  scenario('P6: after an outage of all instances the latest missed slot runs once, the others are one record, and no fire time is silent', async (cluster) => {
    const { after, stoppedAt } = await outage(cluster, { everyMs })
    const { caughtUp, count } = await after.event('slot.missed', (event) => event.caughtUp !== undefined)
    expect(count).toBeGreaterThanOrEqual(2)
    // It runs, although runs of later fire times may stand in its way for a while.
    const rows = await cluster.settled('job', everyMs)
    await after.scheduler.stop()
    const ofOutage = rows.filter(({ fire_time }) => (fire_time as number) > stoppedAt && (fire_time as number) <= (caughtUp as number))
    expect(ofOutage).toMatchObject([{ state: 'missed', missed_count: count }, { origin: 'catchup', fire_time: caughtUp, state: 'succeeded', error_code: null }])
  })

  scenario('P6: with misfire skip a slot outside the catch-up window is recorded and does not run', async (cluster) => {
    const { after, stoppedAt } = await outage(cluster, { everyMs, misfire: 'skip', catchUpWindowMs: 0 })
    const { caughtUp } = await after.event('slot.missed')
    expect(caughtUp).toBeUndefined()
    await sleep(2_500)
    const rows = await cluster.settled('job', everyMs)
    expect(rows.some(({ missed_count, fire_time }) => missed_count !== null && (fire_time as number) > stoppedAt)).toBe(true)
    expect(rows.filter(({ origin }) => origin === 'catchup')).toEqual([])
  })

  scenario('P6: a fire time that passed while an instance was restarting is not lost, however short the restart', async (cluster) => {
    const options = { everyMs: 10_000 }
    const before = cluster.node()
    before.scheduler.task('job', options, () => {})
    await before.scheduler.start()
    await before.event('execution.succeeded')
    // Far enough from it that it is not claimed before the stop.
    const leaveMs = 4_000
    const missed = Math.ceil((await clock(cluster) + leaveMs) / options.everyMs) * options.everyMs
    await sleep(Math.max(0, missed - leaveMs - await clock(cluster)))
    await before.scheduler.stop()
    // Boots a moment after the fire time: within one heartbeat, too late for a timer, too early for a scan of what is old.
    await sleep(Math.max(0, missed - await clock(cluster) + 250))
    const after = cluster.node({ leaseMs: 12_000, heartbeatMs: 4_000 })
    after.scheduler.task('job', options, () => {})
    await after.scheduler.start()
    await after.event('execution.succeeded', (event) => event.fireTime === missed)
  })

  scenario('P6: a new task has missed nothing', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('job', { cron: '0 0 3 1 1 *' }, () => {}).task('tick', { everyMs }, () => {})
    await node.scheduler.start()
    await node.event('execution.succeeded', ({ task }) => task === 'tick')
    expect(await cluster.executions('job')).toEqual([])
    expect(node.events('slot.missed').filter(({ task }) => task === 'job')).toEqual([])
  })

  scenario('P1: three instances that boot together after an outage catch up once', async (cluster) => {
    const before = cluster.node()
    before.scheduler.task('job', { everyMs }, () => {})
    await before.scheduler.start()
    await before.event('execution.succeeded')
    await before.scheduler.stop()
    const stoppedAt = await clock(cluster)
    await sleep(awayMs)
    const after = [1, 2, 3].map(() => {
      const node = cluster.node(patient)
      node.scheduler.task('job', { everyMs }, () => {})
      return node
    })
    const bootAt = await clock(cluster)
    await Promise.all(after.map(({ scheduler }) => scheduler.start()))
    const rows = await cluster.settled('job', everyMs, { and: (found) => found.some(({ origin }) => origin === 'catchup') && (found.at(-1)?.['fire_time'] as number) > bootAt })
    await Promise.all(after.map(({ scheduler }) => scheduler.stop()))
    // What the first scan of all must find: later slots may still be claimed, or be late by themselves.
    const certain = rows.filter(({ fire_time }) => (fire_time as number) > stoppedAt && (fire_time as number) <= bootAt - patient.heartbeatMs)
    expect(certain.filter(({ origin }) => origin === 'catchup').length).toBeLessThanOrEqual(1)
    expect(certain.filter(({ state, origin }) => state === 'succeeded' && origin !== 'catchup')).toEqual([])
    expect(rows.some(({ missed_count, missed_from }) => missed_count !== null && (missed_from as number) <= bootAt - patient.heartbeatMs)).toBe(true)
    const starts = after.flatMap((node) => node.events('execution.started').map(({ fireTime }) => fireTime))
    expect(new Set(starts).size).toBe(starts.length)
    expect(allEnded(certain)).toBe(true)
  })
})
