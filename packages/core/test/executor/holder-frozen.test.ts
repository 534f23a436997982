import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { realTime } from './real-time.ts'
import type { HandlerConfig } from './instance-config.ts'
import { both, measured, runTogether, shortLease, slackMs } from './scenarios.ts'

const limitMs = shortLease.leaseMs + shortLease.heartbeatMs + slackMs
const { leaseMs, heartbeatMs } = shortLease

/** A holder that is frozen while it runs, a successor that takes over, and the holder woken after the successor has started. */
async function freezeTheHolder(cluster: Cluster, handler: HandlerConfig) {
  const config = (own: HandlerConfig) => ({ options: shortLease, tasks: [{ name: 'job', options: { everyMs: 1_000 }, handler: own }] })
  const holder = cluster.instance(config(handler))
  const first = await holder.line(({ kind }) => kind === 'start', 60_000)
  // The handler's code is no part of the definition: the successor's is short.
  const successor = cluster.instance(config({ do: 'watch', ms: 500 }))
  await successor.started()
  const frozenAt = await cluster.freeze(holder)
  const second = await successor.line((line) => line.kind === 'start' && line.fireTime === first.fireTime, limitMs + 5_000)
  return { holder, successor, first, second, tookMs: second.at - frozenAt }
}

async function zombieLooks(cluster: Cluster): Promise<void> {
  const { holder, successor, first, second, tookMs } = await freezeTheHolder(cluster, { do: 'watch', ms: 60_000 })
  measured(`${cluster.store.product}: takeover after SIGSTOP (lease ${leaseMs} + heartbeat ${heartbeatMs})`, tookMs)
  expect(tookMs).toBeLessThan(limitMs)
  // Not while its lease could still be good: the last renewal was about a heartbeat before the freeze, at most two on a loaded machine.
  expect(tookMs).toBeGreaterThan(leaseMs - 2 * heartbeatMs)
  expect(second).toMatchObject({ attempt: 2, reason: 'recovered' })
  expect(second.fencingToken).toBeGreaterThan(first.fencingToken as number)

  holder.child.thaw()
  const look = await holder.line(({ kind }) => kind === 'look')
  // The first look after the freeze, whatever timers and sockets have not reported yet.
  expect(look).toMatchObject({ aborted: true, attempt: 1, fireTime: first.fireTime })
  expect(look.lostMs).toBeGreaterThan(500)
  expect(await holder.event('execution.fenced')).toMatchObject({ fireTime: first.fireTime, attempt: 1, owner: first.owner })
  expect(await holder.event('node.lost')).toMatchObject({ nodeId: expect.any(String) as string })

  const rows = await cluster.until('the successor succeeds', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 15_000)
  expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ owner: second.owner, fencing_token: second.fencingToken, attempt: 2, crash_count: 1 })
  expect(cluster.journal.filter(({ event, fireTime }) => event === 'execution.succeeded' && fireTime === first.fireTime)).toHaveLength(1)
  expect(successor.events('execution.fenced')).toEqual([])
}

async function zombieFinishes(cluster: Cluster): Promise<void> {
  // It never looks at its signal and goes on to the end, as if nothing had happened.
  const { holder, successor, first, second } = await freezeTheHolder(cluster, { do: 'ignore', ms: 8_000 })
  holder.child.thaw()
  await holder.line(({ kind, fireTime }) => kind === 'end' && fireTime === first.fireTime)
  expect(await holder.event('execution.fenced')).toMatchObject({ fireTime: first.fireTime, owner: first.owner, fencingToken: first.fencingToken })
  const rows = await cluster.until('the successor succeeds', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 15_000)
  expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ owner: second.owner, fencing_token: second.fencingToken })
  expect(successor.events('execution.fenced')).toEqual([])
  expect(holder.events('execution.succeeded').filter(({ fireTime }) => fireTime === first.fireTime)).toEqual([])
}

async function alone(cluster: Cluster): Promise<void> {
  const only = cluster.instance({ options: shortLease, tasks: [{ name: 'job', options: { everyMs: 1_000 }, handler: { do: 'watch', ms: 300 } }] })
  const started = await only.started()
  await only.line(({ kind }) => kind === 'start')
  await cluster.freeze(only)
  await sleep(3 * leaseMs)
  const thawedAt = realTime()
  only.child.thaw()
  // It lost its lease to nobody, comes back under another id and goes on by itself.
  const registered = await only.line((line) => line.event === 'node.registered' && line.at > thawedAt)
  expect(registered.nodeId).not.toBe(started.nodeId)
  const next = await only.line((line) => line.kind === 'end' && line.at > thawedAt && line.error === undefined)
  await sleep(2_500)
  await only.stop()
  const rows = await cluster.executions('job')
  expect(rows.filter(({ state }) => !['succeeded', 'missed', 'skipped'].includes(state as string))).toEqual([])
  expect(rows.some(({ fire_time, state }) => fire_time === next.fireTime && state === 'succeeded')).toBe(true)
  // Every second has a row of its own or is in a range record: nothing is silently gone.
  const covered = new Set(rows.flatMap(({ fire_time, missed_from, missed_count }) => (missed_count === null ? [fire_time as number]
    : Array.from({ length: missed_count as number }, (_, index) => (missed_from as number) + index * 1_000))))
  const [first, last] = [Math.min(...covered), Math.max(...covered)]
  const silent = Array.from({ length: (last - first) / 1_000 + 1 }, (_, index) => first + index * 1_000).filter((fireTime) => !covered.has(fireTime))
  expect(silent, JSON.stringify(rows.map(({ fire_time, state, origin, missed_count }) => [fire_time, state, origin, missed_count]))).toEqual([])
}

runTogether([
  { title: 'P5: a holder frozen past its lease reads its signal as aborted at its first look, is reported as fenced, and one run succeeds', on: both, run: zombieLooks },
  { title: 'P7: a woken holder that finishes all the same changes nothing and is reported as fenced', on: both, run: zombieFinishes },
  { title: 'P6: a lone instance frozen for three leases comes back under a new id and goes on', on: both, run: alone },
])
