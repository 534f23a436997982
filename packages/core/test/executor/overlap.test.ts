import { setTimeout as sleep } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import { onStores } from './on-stores.ts'
import { far } from './scenarios.ts'

// Beyond a heartbeat a slot is the scan's: so long that a loaded machine is not late by itself.
const patient = { leaseMs: 12_000, heartbeatMs: 3_000 }

onStores((scenario) => {
  scenario('P2: with overlap skip no run of a task starts while another has not ended, on any instance, and the skipped slots say why', async (cluster) => {
    let running = 0
    let most = 0
    const nodes = [1, 2].map(() => {
      const node = cluster.node(patient)
      node.scheduler.task('long', { everyMs: 1_000 }, async () => {
        running += 1
        most = Math.max(most, running)
        await sleep(2_400)
        running -= 1
      })
      return node
    })
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    await cluster.until('two runs', (rows) => rows.filter(({ state }) => state === 'succeeded').length >= 2, 40_000)
    const rows = await cluster.executions('long')
    expect(most).toBe(1)
    expect(rows.filter(({ state }) => state === 'skipped').length).toBeGreaterThanOrEqual(3)
    for (const { state, error_code } of rows) if (state === 'skipped') expect(error_code).toBe('overlap')
    // Every fire time has a row, run or not.
    const fireTimes = rows.map(({ fire_time }) => fire_time as number)
    expect(fireTimes).toEqual(fireTimes.map((_, index) => (fireTimes[0] as number) + index * 1_000))
    // Each is told once, a moment after its row is there.
    const told = (): number[] => nodes.flatMap((node) => node.events('slot.skipped')).map(({ fireTime }) => fireTime)
    await vi.waitFor(() => { expect(told()).toEqual(expect.arrayContaining(rows.filter(({ state }) => state === 'skipped').map(({ fire_time }) => fire_time))) }, 10_000)
    expect(new Set(told()).size).toBe(told().length)
  })

  scenario('P2: with overlap allow runs of one task go side by side, one per fire time', async (cluster) => {
    const node = cluster.node(patient)
    let running = 0
    let most = 0
    node.scheduler.task('wide', { everyMs: 1_000, overlap: 'allow' }, async () => {
      running += 1
      most = Math.max(most, running)
      await sleep(2_400)
      running -= 1
    })
    await node.scheduler.start()
    await cluster.until('three runs', (rows) => rows.filter(({ state }) => state === 'succeeded').length >= 3, 40_000)
    expect(most).toBeGreaterThanOrEqual(2)
    expect((await cluster.executions('wide')).some(({ state }) => state === 'skipped')).toBe(false)
    expect(node.events('execution.started').length).toBe(new Set(node.events('execution.started').map(({ fireTime }) => fireTime)).size)
  })

  scenario('P1: a busy instance waits for a worker before it claims, and an idle one runs the slot', async (cluster) => {
    const busy = cluster.node({ concurrency: 1 })
    busy.scheduler.task('hog', { everyMs: far }, ({ signal }) => sleep(100_000, undefined, { signal }).catch(() => {})).task('short', { everyMs: 1_000 }, () => {})
    await busy.scheduler.start()
    await cluster.makeDue('hog')
    await busy.event('execution.started', ({ task }) => task === 'hog')
    const idle = cluster.node()
    idle.scheduler.task('short', { everyMs: 1_000 }, () => {})
    await idle.scheduler.start()
    await idle.event('execution.succeeded', ({ task }) => task === 'short')
    const since = Math.min(...idle.events('execution.started').map(({ fireTime }) => fireTime))
    await cluster.until('two more', (rows) => rows.filter(({ task_name, fire_time, state }) => task_name === 'short' && (fire_time as number) >= since && state === 'succeeded').length >= 2, 20_000)
    expect(busy.events('execution.started').filter(({ task, fireTime }) => task === 'short' && fireTime >= since)).toEqual([])
  })
})
