import { expect, vi } from 'vitest'
import { both, runTogether } from '../executor/scenarios.ts'
import { lease, withPulse, type PulseCluster } from './pulse-instance.ts'

const { leaseMs } = lease
const blockMs = 3 * leaseMs

/** What the other mode is measured against: the same handler with the pulse on the event loop that it blocks. */
async function lostOnMain(pulse: PulseCluster): Promise<void> {
  const other = pulse.instance({ do: 'block', ms: 0 }, { pulse: 'main' })
  await other.started()
  const blocker = pulse.instance({ do: 'block', ms: blockMs }, { pulse: 'main' })
  const first = await blocker.firstStart()
  const second = await other.line((line) => line.kind === 'start' && line.fireTime === first.fireTime)
  expect(second).toMatchObject({ attempt: 2, reason: 'recovered' })
  expect(await blocker.line(({ kind }) => kind === 'look')).toMatchObject({ aborted: true, fireTime: first.fireTime })
  expect(await blocker.line(({ event, owner }) => event === 'execution.fenced' && owner === first.owner)).toMatchObject({ fireTime: first.fireTime })
  const rows = await pulse.cluster.until('one success', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 10_000)
  expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ owner: second.owner, crash_count: 1 })
}

async function keptOnWorker(pulse: PulseCluster): Promise<void> {
  const other = pulse.instance({ do: 'block', ms: 0 })
  await other.started()
  const blocker = pulse.instance({ do: 'block', ms: blockMs })
  const first = await blocker.firstStart()
  const { nodeId } = await blocker.started()
  expect(await blocker.line(({ kind }) => kind === 'look')).toMatchObject({ aborted: false, fireTime: first.fireTime })
  expect(await blocker.event('execution.succeeded')).toMatchObject({ fireTime: first.fireTime, owner: first.owner, attempt: 1 })
  // The loop turns again, and says how long it did not.
  expect(await blocker.event('loop.blocked')).toMatchObject({ nodeId })
  const row = (await pulse.cluster.executions('job')).find(({ fire_time }) => fire_time === first.fireTime)
  expect(row).toMatchObject({ state: 'succeeded', owner: first.owner, attempt: 1, crash_count: 0, node_id: nodeId })
  expect(other.events('execution.recovered')).toEqual([])
  expect([...blocker.events('node.lost'), ...blocker.events('execution.fenced')]).toEqual([])
}

/** Again and again, with the loop blocked most of the time: whatever else this instance has in hand must not keep its own heartbeat out. */
async function keptForLong(pulse: PulseCluster): Promise<void> {
  const only = pulse.instance({ do: 'block', ms: 1.5 * leaseMs })
  await only.line(({ kind }) => kind === 'start', 60_000)
  const looks = await vi.waitFor(() => {
    const found = only.journal.filter(({ kind }) => kind === 'look')
    expect(found.length).toBeGreaterThanOrEqual(5)
    return found
  }, 90_000)
  expect(looks.filter(({ aborted }) => aborted)).toEqual([])
  expect(only.events('node.lost')).toEqual([])
  expect(only.events('node.registered')).toHaveLength(1)
}

runTogether([
  { title: 'P7: with the pulse on the main thread a handler that blocks it for three leases is replaced, and its late result is fenced', on: both, run: withPulse(lostOnMain) },
  { title: 'P5: with the pulse on a worker thread the same handler keeps its lease: its signal is good, it succeeds, and nobody takes over', on: both, run: withPulse(keptOnWorker) },
  { title: 'P5: handlers that block the loop most of the time never lose the lease, and their own instance never keeps the heartbeat out', on: both, run: withPulse(keptForLong) },
])
