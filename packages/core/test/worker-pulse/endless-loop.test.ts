import { expect } from 'vitest'
import { both, measured, runTogether, slackMs } from '../executor/scenarios.ts'
import { lease, withPulse, type PulseCluster } from './pulse-instance.ts'

const { leaseMs, heartbeatMs } = lease
const timeoutMs = 2_500
const abortGraceMs = 500
const task = { everyMs: 1_000, timeoutMs }

async function takenOver(pulse: PulseCluster): Promise<void> {
  const other = pulse.instance({ do: 'block', ms: 0 }, { abortGraceMs }, task)
  await other.started()
  const hung = pulse.instance({ do: 'endless' }, { abortGraceMs }, task)
  const first = await hung.firstStart()
  const second = await other.line((line) => line.kind === 'start' && line.fireTime === first.fireTime)
  const tookMs = second.at - first.at
  measured(`${pulse.cluster.store.product}: takeover of an endless loop (timeout ${timeoutMs} + grace ${abortGraceMs} + lease ${leaseMs} + heartbeat ${heartbeatMs})`, tookMs)
  expect(tookMs).toBeLessThan(timeoutMs + abortGraceMs + leaseMs + heartbeatMs + slackMs)
  // Until then it was within its rights.
  expect(tookMs).toBeGreaterThan(timeoutMs + abortGraceMs)
  expect(second).toMatchObject({ attempt: 2, reason: 'recovered' })
  expect(second.fencingToken).toBeGreaterThan(first.fencingToken as number)
  // It does not come back under another id while its loop hangs.
  const nodes = await pulse.cluster.query(`SELECT state FROM sched_nodes WHERE namespace = 'test' AND node_label LIKE ?`, [`%:${hung.child.pid}`])
  expect(nodes).toEqual([{ state: 'dead' }])
}

/** A loop that looks at its signal: no message can reach it, shared memory does. */
async function seesTheLoss(pulse: PulseCluster): Promise<void> {
  const spinning = pulse.instance({ do: 'spin', ms: 20_000 }, { abortGraceMs }, task)
  const first = await spinning.firstStart()
  const look = await spinning.line(({ kind }) => kind === 'look', 30_000)
  expect(look).toMatchObject({ aborted: true, fireTime: first.fireTime })
  expect(look.afterMs).toBeGreaterThan(timeoutMs + abortGraceMs)
  expect(look.afterMs).toBeLessThan(timeoutMs + abortGraceMs + leaseMs + heartbeatMs + slackMs)
  expect(await spinning.event('node.lost'), spinning.story).toMatchObject({ reason: { code: 'SCHED_LEASE_LOST', message: expect.stringContaining('event loop') as string } })
  // The loop turns: a new life, and the execution is recovered.
  expect((await spinning.event('node.registered', look.at)).nodeId).not.toBe((await spinning.started()).nodeId)
  const again = await spinning.line((line) => line.kind === 'start' && line.fireTime === first.fireTime && line.attempt === 2)
  expect(again).toMatchObject({ reason: 'recovered' })
}

runTogether([
  { title: 'P6: an endless loop is not kept alive: it is taken over within timeoutMs, grace, lease and heartbeat, and registers no new life', on: both, run: withPulse(takenOver) },
  { title: 'P5: a handler that blocks the loop and looks at its signal sees the loss without a turn of the loop, and the instance comes back', on: both, run: withPulse(seesTheLoss) },
])
