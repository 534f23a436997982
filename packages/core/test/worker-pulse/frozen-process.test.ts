import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { both, runTogether } from '../executor/scenarios.ts'
import { lease, withPulse, type PulseCluster } from './pulse-instance.ts'

const { leaseMs } = lease

async function firstLook(pulse: PulseCluster): Promise<void> {
  const other = pulse.instance({ do: 'block', ms: 0 })
  await other.started()
  const holder = pulse.instance({ do: 'watch', ms: 60_000 })
  const first = await holder.firstStart()
  await sleep(200) // it says "start" before it begins
  // Not while it writes, which on SQLite would stop the other one.
  const frozenAt = await pulse.cluster.freeze(holder)
  const second = await other.line((line) => line.kind === 'start' && line.fireTime === first.fireTime)
  expect(second).toMatchObject({ attempt: 2, reason: 'recovered' })
  holder.child.thaw()
  // The first look after the freeze, whichever thread wakes first.
  const look = await holder.line(({ kind, at }) => kind === 'look' && at > frozenAt)
  expect(look).toMatchObject({ aborted: true, fireTime: first.fireTime })
  expect(look.afterMs, holder.story).toBeGreaterThan(500)
  expect(await holder.event('execution.fenced')).toMatchObject({ fireTime: first.fireTime, owner: first.owner })
  expect((await holder.event('node.lost', frozenAt)).reason).toMatchObject({ code: 'SCHED_LEASE_LOST' })
  await holder.event('node.registered', look.at)
}

/** Frozen while its loop is blocked: at wake neither a timer nor a message has run, and the other thread has not either. */
async function blockedAndFrozen(pulse: PulseCluster): Promise<void> {
  const holder = pulse.instance({ do: 'block', ms: 2 * leaseMs })
  await holder.line(({ kind }) => kind === 'start', 60_000)
  await sleep(200)
  await holder.child.freeze()
  await sleep(3 * leaseMs)
  holder.child.thaw()
  expect(await holder.line(({ kind }) => kind === 'look')).toMatchObject({ aborted: true })
  await holder.event('execution.fenced')
}

runTogether([
  { title: 'P5: a process frozen past its lease reads its signal as aborted at its first look, is fenced, and comes back under a new id', on: both, run: withPulse(firstLook) },
  { title: 'P5: a handler that was blocking the loop when its process was frozen reads its signal as aborted at its first look', on: both, run: withPulse(blockedAndFrozen) },
])
