import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import type { Cluster } from './cluster.ts'
import { onStores } from './on-stores.ts'

const everyMs = 1_000

onStores((scenario) => {
  async function clock(cluster: Cluster): Promise<number> { return (await cluster.query(`SELECT ${cluster.nowMs} AS t`))[0]?.['t'] as number }

  /** All instances are away for a while; then one boots, with a task that has missed some fire times. */
  async function outage(cluster: Cluster, options: TaskOptions, awayMs: number) {
    const before = cluster.node()
    before.scheduler.task('job', options, () => {})
    await before.scheduler.start()
    await before.event('execution.succeeded')
    await before.scheduler.stop()
    const stoppedAt = await clock(cluster)
    await sleep(awayMs)
    const bootAt = await clock(cluster)
    const after = cluster.node()
    after.scheduler.task('job', options, () => {})
    await after.scheduler.start()
    /** What became of the fire times of the outage; on a loaded machine later ones may be late as well. */
    const ofOutage = async () => (await cluster.executions('job')).filter(({ fire_time }) => (fire_time as number) > stoppedAt && (fire_time as number) <= bootAt)
    return { after, ofOutage }
  }

  /** Fire times that have no row and are in no range record. */
  async function silent(cluster: Cluster): Promise<number[]> {
    const rows = await cluster.executions('job')
    const covered = new Set(rows.flatMap(({ fire_time, missed_from, missed_count }) => (missed_count === null ? [fire_time as number]
      : Array.from({ length: missed_count as number }, (_, index) => (missed_from as number) + index * everyMs))))
    const [first, last] = [Math.min(...covered), Math.max(...covered)]
    return Array.from({ length: (last - first) / everyMs + 1 }, (_, index) => first + index * everyMs).filter((fireTime) => !covered.has(fireTime))
  }

  scenario('P6: after an outage of all instances the latest missed slot runs once, the others are one record, and no fire time is silent', async (cluster) => {
    const { after, ofOutage } = await outage(cluster, { everyMs }, 4_300)
    const { caughtUp, count } = await after.event('slot.missed', (event) => event.caughtUp !== undefined)
    expect(count).toBeGreaterThanOrEqual(1)
    await sleep(2_500)
    await after.scheduler.stop()
    const rows = await ofOutage()
    // It ran; only a run of a later fire time that was faster may have stood in its way.
    const caught = rows.find(({ origin }) => origin === 'catchup')
    expect(caught).toMatchObject({ fire_time: caughtUp })
    expect([`succeeded ${String(null)}`, 'skipped overlap']).toContain(`${caught?.['state'] as string} ${String(caught?.['error_code'])}`)
    expect(rows.filter(({ state }) => state === 'missed')).toHaveLength(1)
    expect(rows.filter(({ origin }) => origin === 'catchup')).toHaveLength(1)
    expect(await silent(cluster)).toEqual([])
  })

  scenario('P6: with misfire skip a slot outside the catch-up window is recorded and does not run', async (cluster) => {
    const { after, ofOutage } = await outage(cluster, { everyMs, misfire: 'skip', catchUpWindowMs: 0 }, 3_300)
    const { caughtUp } = await after.event('slot.missed')
    expect(caughtUp).toBeUndefined()
    await sleep(2_500)
    expect((await ofOutage()).filter(({ origin }) => origin === 'catchup')).toEqual([])
    expect(await silent(cluster)).toEqual([])
  })

  scenario('P6: a fire time that passed while an instance was restarting is not lost, however short the restart', async (cluster) => {
    const options = { everyMs: 5_000 }
    const before = cluster.node()
    before.scheduler.task('job', options, () => {})
    await before.scheduler.start()
    const { fireTime } = await before.event('execution.succeeded')
    const missed = fireTime + 5_000
    await before.event('heartbeat')
    const { dbNow } = before.events('heartbeat').at(-1) as { dbNow: number }
    await sleep(missed - dbNow - 1_000)
    await before.scheduler.stop()
    // Boots a moment after the fire time: within one heartbeat, too late for a timer, too early for a scan of what is old.
    await sleep(missed - await clock(cluster) + 250)
    const after = cluster.node({ leaseMs: 12_000, heartbeatMs: 4_000 })
    after.scheduler.task('job', options, () => {})
    await after.scheduler.start()
    await after.event('execution.succeeded', (event) => event.fireTime === missed, 8_000)
  })

  scenario('P6: a new task has missed nothing', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('job', { cron: '0 0 3 * * *' }, () => {}).task('tick', { everyMs }, () => {})
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
    await sleep(3_300)
    const after = [1, 2, 3].map(() => {
      const node = cluster.node()
      node.scheduler.task('job', { everyMs }, () => {})
      return node
    })
    const bootAt = await clock(cluster)
    await Promise.all(after.map(({ scheduler }) => scheduler.start()))
    await sleep(2_000)
    await Promise.all(after.map(({ scheduler }) => scheduler.stop()))
    const rows = (await cluster.executions('job')).filter(({ fire_time }) => (fire_time as number) > stoppedAt && (fire_time as number) <= bootAt)
    expect(rows.filter(({ origin }) => origin === 'catchup').length).toBeLessThanOrEqual(1)
    expect(rows.filter(({ state }) => state === 'missed')).toHaveLength(1)
    const starts = after.flatMap((node) => node.events('execution.started').map(({ fireTime }) => fireTime))
    expect(new Set(starts).size).toBe(starts.length)
    expect(await silent(cluster)).toEqual([])
  })
})
