import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { allEnded } from './coverage.ts'
import { onStores } from './on-stores.ts'

const tasks = 50
const rounds = 3
// Long enough that a loaded machine ends one round before the next: a slot may be skipped only where a run really overlaps.
const everyMs = 3_000

onStores((scenario) => {
  scenario('P10: fifty tasks due in the same second on three instances: no error, no deadlock, one start each', async (cluster) => {
    // The limits of a statement follow the heartbeat; what is under way at the end may take as long as the machine needs.
    const nodes = [1, 2, 3].map(() => {
      const node = cluster.node({ leaseMs: 60_000, heartbeatMs: 20_000, concurrency: tasks, drainMs: 60_000 })
      for (let index = 0; index < tasks; index += 1) node.scheduler.task(`task-${index}`, { everyMs }, () => sleep(5))
      return node
    })
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    const over = await cluster.until(`${rounds} rounds are over`, (rows) => rows.length >= tasks * rounds && allEnded(rows), 60_000)
    await Promise.all(nodes.map(({ scheduler }) => scheduler.stop()))
    expect(nodes.flatMap((node) => node.events('error')).map(({ error, where }) => `${where}: ${error.message}`)).toEqual([])
    expect(nodes.flatMap((node) => node.events('node.lost'))).toEqual([])
    const starts = nodes.flatMap((node) => node.events('execution.started')).map(({ task, fireTime }) => `${task} ${fireTime}`)
    expect(new Set(starts).size).toBe(starts.length)
    // A machine that is too slow for its rounds skips a slot whose task still runs, and says so.
    const ran = over.filter(({ state, error_code }) => state !== 'skipped' || error_code !== 'overlap')
    expect(ran.length).toBeGreaterThanOrEqual(tasks * (rounds - 1))
    expect(new Set(ran.map(({ state }) => state))).toEqual(new Set(['succeeded']))
    expect(starts).toEqual(expect.arrayContaining(ran.map(({ task_name, fire_time }) => `${task_name as string} ${fire_time as number}`)))
    // What was due while they stopped ran, or is left to whoever starts next.
    for (const { state, error_code } of await cluster.executions()) expect(['succeeded', 'pending', 'skipped overlap']).toContain(state === 'skipped' ? `${state} ${error_code as string}` : state)
  })
})
