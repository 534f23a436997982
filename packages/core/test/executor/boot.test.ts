import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { both, runTogether } from './scenarios.ts'

const count = 10

async function bootTogether(cluster: Cluster): Promise<void> {
  const config = { options: { leaseMs: 10_000, heartbeatMs: 1_000 }, tasks: ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, options: { everyMs: 1_000 }, handler: { do: 'work', ms: 5 } as const })) }
  const instances = Array.from({ length: count }, () => cluster.instance(config))
  const started = await Promise.all(instances.map((instance) => instance.line(({ kind }) => kind === 'started' || kind === 'refused', 90_000)))
  expect(started.map(({ kind, message }) => message ?? kind)).toEqual(Array.from({ length: count }, () => 'started'))
  expect(new Set(started.map(({ nodeId }) => nodeId)).size).toBe(count)
  await cluster.until('each task has run', (rows) => new Set(rows.filter(({ state }) => state === 'succeeded').map(({ task_name }) => task_name)).size === 5, 40_000)
  await Promise.all(instances.map((instance) => instance.stop()))
  expect(await cluster.query('SELECT COUNT(*) AS n FROM sched_tasks')).toEqual([{ n: 5 }])
  const starts = cluster.starts().map(({ task, fireTime }) => `${task as string} ${fireTime as number}`)
  expect(new Set(starts).size).toBe(starts.length)
  // What was claimed or to be caught up as they stopped waits for the next to start.
  for (const { state } of await cluster.executions()) expect(['succeeded', 'skipped', 'missed', 'pending']).toContain(state)
}

runTogether([{ title: 'P1: ten instances that boot at once on an empty database all start, and share one schedule', on: both, run: bootTogether }])
