import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { onStores } from './on-stores.ts'

const tasks = 50
const rounds = 3
// Long enough that a loaded machine ends one round before the next: a slot may be skipped only where a run really overlaps.
const everyMs = 3_000

onStores((scenario) => {
  scenario('P10: fifty tasks due in the same second on three instances: no error, no deadlock, one start each', async (cluster) => {
    const nodes = [1, 2, 3].map(() => {
      const node = cluster.node({ leaseMs: 30_000, heartbeatMs: 10_000, concurrency: tasks, drainMs: 5_000 })
      for (let index = 0; index < tasks; index += 1) node.scheduler.task(`task-${index}`, { everyMs }, () => sleep(5))
      return node
    })
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    await sleep(rounds * everyMs)
    await Promise.all(nodes.map(({ scheduler }) => scheduler.stop()))
    expect(nodes.flatMap((node) => node.events('error')).map(({ error, where }) => `${where}: ${error.message}`)).toEqual([])
    expect(nodes.flatMap((node) => node.events('node.lost'))).toEqual([])
    const starts = nodes.flatMap((node) => node.events('execution.started')).map(({ task, fireTime }) => `${task} ${fireTime}`)
    expect(starts.length).toBeGreaterThanOrEqual(tasks * (rounds - 1))
    expect(new Set(starts).size).toBe(starts.length)
    const rows = await cluster.executions()
    // A machine that is too slow for its rounds skips a slot whose task still runs, and says so.
    const ran = rows.filter(({ state, error_code }) => state !== 'skipped' || error_code !== 'overlap')
    expect(new Set(ran.map(({ state }) => state))).toEqual(new Set(['succeeded']))
    expect(ran.length).toBe(starts.length)
  })
})
