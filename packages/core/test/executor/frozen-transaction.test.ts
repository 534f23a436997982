import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import { realTime } from './real-time.ts'
import { measured, runTogether, servers, shortLease, slackMs } from './scenarios.ts'

const { leaseMs, heartbeatMs } = shortLease
// The lease runs out, the server's idle limit (one lease) ends the session, the next sweep passes; a sweep that met the locked row
// before has waited half a heartbeat for it.
const limitMs = leaseMs + 2 * heartbeatMs + slackMs

async function setUp(cluster: Cluster) {
  await cluster.query('CREATE TABLE effects (fire_time BIGINT NOT NULL, attempt BIGINT NOT NULL, pid BIGINT NOT NULL)')
  const tasks = [{ name: 'job', options: { everyMs: 1_000 }, handler: { do: 'transaction' } as const }]
  // Both from the beginning: on SQLite nobody can join while a writer is frozen.
  const successor = cluster.instance({ options: shortLease, tasks })
  await successor.started()
  const holder = cluster.instance({ options: shortLease, tasks, freeze: 'commit' })
  const frozen = await holder.line(({ kind }) => kind === 'frozen', 60_000)
  const first = holder.starts('job').at(-1)
  if (first === undefined) throw new Error('the holder has not started')
  return { holder, successor, frozen, first }
}

async function frozenBeforeCommit(cluster: Cluster): Promise<void> {
  const { holder, successor, frozen, first } = await setUp(cluster)
  const second = await successor.line((line) => line.kind === 'start' && line.fireTime === first.fireTime, 60_000)
  const tookMs = second.at - frozen.at
  measured(`${cluster.store.product}: takeover from a holder frozen inside ctx.transaction (lease and idle limit ${leaseMs}, heartbeat ${heartbeatMs})`, tookMs)
  expect(tookMs).toBeLessThan(limitMs)
  await cluster.until('the successor succeeds', (rows) => rows.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 20_000)

  holder.child.thaw()
  expect(await holder.fenced(first)).toMatchObject({ fireTime: first.fireTime })
  await sleep(500)
  // The zombie's writes are not there: one effect, the successor's.
  expect(await cluster.query('SELECT attempt, pid FROM effects WHERE fire_time = ?', [first.fireTime as number])).toEqual([{ attempt: second.attempt, pid: successor.child.pid }])
  expect((await cluster.executions('job')).find(({ fire_time }) => fire_time === first.fireTime)).toMatchObject({ state: 'succeeded', owner: second.owner })
  expect(holder.events('execution.succeeded').filter(({ fireTime }) => fireTime === first.fireTime)).toEqual([])
}

/** SQLite has no such limit: the frozen process stops every writer until it is killed or woken (P6 says so). */
async function frozenWriterKilled(cluster: Cluster): Promise<void> {
  const { holder, successor, frozen, first } = await setUp(cluster)
  await sleep(2 * leaseMs)
  expect(successor.starts().filter(({ at }) => at > frozen.at)).toEqual([])
  const killedAt = realTime()
  await holder.child.kill()
  const second = await successor.line((line) => line.kind === 'start' && line.fireTime === first.fireTime, 20_000)
  measured('SQLite: recovery after the frozen writer was killed', second.at - killedAt)
  await cluster.until('the successor succeeds', (rows) => rows.some(({ fire_time, state }) => fire_time === first.fireTime && state === 'succeeded'), 20_000)
  expect(await cluster.query('SELECT pid FROM effects WHERE fire_time = ?', [first.fireTime as number])).toEqual([{ pid: successor.child.pid }])
}

runTogether([
  { title: 'P6: a holder frozen inside ctx.transaction after its last statement is replaced once the server has ended its session, and P8: its writes are not there', on: servers, run: frozenBeforeCommit },
  { title: 'P6: a process frozen inside a write transaction on SQLite stops the others until it is killed, and then its work is recovered', on: ['SQLite'], run: frozenWriterKilled },
])
