import { setTimeout as sleep } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import type { Cluster, Instance } from './cluster.ts'
import { realTime } from './real-time.ts'
import type { HandlerConfig, JournalLine } from './instance-config.ts'
import { every, measured, runTogether, shortLease, slackMs } from './scenarios.ts'

const limitMs = shortLease.leaseMs + shortLease.heartbeatMs + slackMs
const { leaseMs, heartbeatMs } = shortLease

/** A holder that is frozen while it runs, a successor that takes over, and the holder woken after the successor has started. */
async function freezeTheHolder(cluster: Cluster, handler: HandlerConfig) {
  const config = (own: HandlerConfig) => ({ options: shortLease, tasks: [{ name: 'job', options: { everyMs: 1_000 }, handler: own }] })
  const holder = cluster.instance(config(handler))
  await holder.line(({ kind }) => kind === 'start', 60_000)
  // The handler's code is no part of the definition: the successor's is short.
  const successor = cluster.instance(config({ do: 'watch', ms: 500 }))
  await successor.started()
  // Where so many boot at once it may have lost its lease before: what counts is the run that is under way.
  const running = (): JournalLine => {
    const start = holder.starts().at(-1) as JournalLine
    if (holder.journal.some(({ kind, owner }) => kind === 'end' && owner === start.owner)) throw new Error('it runs nothing')
    return start
  }
  await vi.waitFor(running, 60_000)
  const frozenAt = await cluster.freeze(holder)
  const first = running()
  const { leaseUntil } = await leaseOf(cluster, holder)
  const second = await successor.line((line) => line.kind === 'start' && line.fireTime === first.fireTime, limitMs + 5_000)
  return { holder, successor, first, second, frozenAt, leaseUntil, tookMs: second.at - frozenAt }
}

/** The lease of an instance's present life, by the database's clock. */
async function leaseOf(cluster: Cluster, instance: Instance): Promise<{ leaseUntil: number }> {
  const nodeId = instance.events('node.registered').at(-1)?.nodeId as string
  const [row] = await cluster.query('SELECT lease_until FROM sched_nodes WHERE node_id = ?', [nodeId])
  return { leaseUntil: row?.['lease_until'] as number }
}

async function zombieLooks(cluster: Cluster): Promise<void> {
  const { holder, successor, first, second, frozenAt, leaseUntil, tookMs } = await freezeTheHolder(cluster, { do: 'watch', ms: 60_000 })
  measured(`${cluster.store.product}: takeover after SIGSTOP (lease ${leaseMs} + heartbeat ${heartbeatMs})`, tookMs)
  expect(tookMs).toBeLessThan(limitMs)
  const attempt = first.attempt as number
  expect(second).toMatchObject({ attempt: attempt + 1, reason: 'recovered' })
  expect(second.fencingToken).toBeGreaterThan(first.fencingToken as number)
  // Not while its lease was good.
  const [taken] = (await cluster.executions('job')).filter(({ fire_time }) => fire_time === first.fireTime)
  expect(taken?.['started_at']).toBeGreaterThanOrEqual(leaseUntil)

  const thawedAt = realTime()
  holder.child.thaw()
  const look = await holder.line(({ kind, at }) => kind === 'look' && at > thawedAt)
  // The first look after the freeze, whatever timers and sockets have not reported yet.
  expect(look).toMatchObject({ aborted: true, attempt, fireTime: first.fireTime })
  expect(look.lostMs).toBeGreaterThan(500)
  const told = (name: string): Promise<JournalLine> => holder.line(({ event, at }) => event === name && at > frozenAt)
  expect(await told('execution.fenced')).toMatchObject({ fireTime: first.fireTime, attempt, owner: first.owner })
  expect(await told('node.lost')).toMatchObject({ nodeId: expect.any(String) as string })

  const rows = await cluster.until('the successor succeeds', (found) => found.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 15_000)
  expect(rows.find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ owner: second.owner, fencing_token: second.fencingToken, attempt: attempt + 1, crash_count: attempt })
  // The row is there before the instance has written its line.
  const succeeded = (line: JournalLine) => line.event === 'execution.succeeded' && line.fireTime === first.fireTime
  await successor.line(succeeded)
  expect(cluster.journal.filter(succeeded)).toHaveLength(1)
  expect(successor.events('execution.fenced')).toEqual([])
}

async function zombieFinishes(cluster: Cluster): Promise<void> {
  // It never looks at its signal and goes on to the end, as if nothing had happened.
  const { holder, successor, first, second } = await freezeTheHolder(cluster, { do: 'ignore', ms: 120_000 })
  holder.child.thaw()
  process.kill(holder.child.pid, 'SIGUSR2')
  await holder.line(({ kind, owner }) => kind === 'end' && owner === first.owner)
  expect(await holder.fenced(first)).toMatchObject({ fireTime: first.fireTime, fencingToken: first.fencingToken })
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
  // Every second has a row of its own or is in a range record: nothing is silently gone, and nothing stays open.
  const rows = await cluster.settled('job', 1_000, { and: (found) => found.some(({ fire_time, state }) => fire_time === next.fireTime && state === 'succeeded') && (found.at(-1)?.['fire_time'] as number) > (next.fireTime as number) })
  expect(rows.some(({ missed_count }) => missed_count !== null)).toBe(true)
}

runTogether([
  { title: 'P5: a holder frozen past its lease reads its signal as aborted at its first look, is reported as fenced, and one run succeeds', on: every, run: zombieLooks },
  { title: 'P7: a woken holder that finishes all the same changes nothing and is reported as fenced', on: every, run: zombieFinishes },
  { title: 'P6: a lone instance frozen for three leases comes back under a new id and goes on', on: every, run: alone },
])
