import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { onStores } from './on-stores.ts'

onStores((scenario) => {
  scenario('P2: with overlap skip no run of a task starts while another has not ended, on any instance, and the skipped slots say why', async (cluster) => {
    let running = 0
    let most = 0
    const nodes = [1, 2].map(() => {
      const node = cluster.node()
      node.scheduler.task('long', { everyMs: 1_000 }, async () => {
        running += 1
        most = Math.max(most, running)
        await sleep(2_400)
        running -= 1
      })
      return node
    })
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    await cluster.until('two runs', (rows) => rows.filter(({ state }) => state === 'succeeded').length >= 2, 15_000)
    const rows = await cluster.executions('long')
    expect(most).toBe(1)
    expect(rows.filter(({ state }) => state === 'skipped').length).toBeGreaterThanOrEqual(3)
    for (const { state, error_code } of rows) if (state === 'skipped') expect(error_code).toBe('overlap')
    // Every fire time has a row, run or not.
    const fireTimes = rows.map(({ fire_time }) => fire_time as number)
    expect(fireTimes).toEqual(fireTimes.map((_, index) => (fireTimes[0] as number) + index * 1_000))
    expect(nodes.flatMap((node) => node.events('slot.skipped')).length).toBe(rows.filter(({ state }) => state === 'skipped').length)
  })

  scenario('P2: with overlap allow runs of one task go side by side, one per fire time', async (cluster) => {
    const node = cluster.node()
    let running = 0
    let most = 0
    node.scheduler.task('wide', { everyMs: 1_000, overlap: 'allow' }, async () => {
      running += 1
      most = Math.max(most, running)
      await sleep(2_400)
      running -= 1
    })
    await node.scheduler.start()
    await cluster.until('three runs', (rows) => rows.filter(({ state }) => state === 'succeeded').length >= 3, 15_000)
    expect(most).toBeGreaterThanOrEqual(2)
    expect((await cluster.executions('wide')).some(({ state }) => state === 'skipped')).toBe(false)
    expect(node.events('execution.started').length).toBe(new Set(node.events('execution.started').map(({ fireTime }) => fireTime)).size)
  })

  scenario('P1: a busy instance waits for a worker before it claims, and an idle one runs the slot', async (cluster) => {
    const busy = cluster.node({ concurrency: 1 })
    busy.scheduler.task('hog', { everyMs: 60_000 * 60 }, () => sleep(5_000)).task('short', { everyMs: 1_000 }, () => {})
    await busy.scheduler.start()
    await cluster.query(`INSERT INTO sched_executions (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash) SELECT namespace, 'x', task_name, 1, 'cron', 'pending', 'catchup', 0, 0, 1, 1, definition_hash FROM sched_tasks WHERE task_name = 'hog'`)
    await busy.event('execution.started', ({ task }) => task === 'hog')
    const idle = cluster.node()
    idle.scheduler.task('short', { everyMs: 1_000 }, () => {})
    await idle.scheduler.start()
    await idle.event('execution.succeeded', ({ task }) => task === 'short')
    const since = Math.min(...idle.events('execution.started').map(({ fireTime }) => fireTime))
    await cluster.until('two more', (rows) => rows.filter(({ task_name, fire_time, state }) => task_name === 'short' && (fire_time as number) >= since && state === 'succeeded').length >= 2, 5_000)
    expect(busy.events('execution.started').filter(({ task, fireTime }) => task === 'short' && fireTime >= since)).toEqual([])
  })
})
