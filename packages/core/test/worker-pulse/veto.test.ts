import { expect, vi } from 'vitest'
import { lockName } from '../../src/spi/lock-name.ts'
import { far, runTogether, slackMs } from '../executor/scenarios.ts'
import { lease, withPulse, type PulseCluster, type PulseInstance } from './pulse-instance.ts'

const { leaseMs, heartbeatMs } = lease
const options = { lockVeto: 'on' } as const

interface ServerSession { readonly pid: number; readonly application_name: string }

/** The sessions that hold an advisory lock in this database. */
async function holders({ cluster }: PulseCluster): Promise<readonly ServerSession[]> {
  const rows = await cluster.query(`SELECT l.pid, a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database()`)
  return rows as unknown as readonly ServerSession[]
}

function belongsTo(instance: PulseInstance): (session: ServerSession) => boolean {
  return ({ application_name }) => application_name.endsWith(`:${instance.child.pid}`)
}

/** The lock lives where the heartbeat does: while the loop is blocked for three leases nobody else gets it. */
async function keptWhileBlocked(pulse: PulseCluster): Promise<void> {
  const other = pulse.instance({ do: 'block', ms: 0 }, options)
  await other.started()
  const blocker = pulse.instance({ do: 'block', ms: 3 * leaseMs }, options)
  const first = await blocker.firstStart()
  const [held] = (await holders(pulse)).filter(belongsTo(blocker))
  expect(held).toBeDefined()
  expect(await blocker.line(({ kind }) => kind === 'look')).toMatchObject({ aborted: false, fireTime: first.fireTime })
  expect(await blocker.event('execution.succeeded')).toMatchObject({ owner: first.owner, attempt: 1 })
  expect([...other.events('execution.recovered'), ...blocker.events('node.lost')]).toEqual([])
  await blocker.stop()
  await other.stop()
  // The server notices a moment after a client has gone.
  await vi.waitFor(async () => { expect(await holders(pulse)).toEqual([]) }, 20_000)
}

/** The lock of an endless loop is taken from it together with its lease, so that the next holder gets it. */
async function takenFromEndlessLoop(pulse: PulseCluster): Promise<void> {
  const task = { everyMs: 1_000, timeoutMs: 4_000 }
  const other = pulse.instance({ do: 'watch', ms: 1_000 }, { ...options, abortGraceMs: 500 }, task)
  await other.started()
  const hung = pulse.instance({ do: 'endless' }, { ...options, abortGraceMs: 500 }, task)
  const first = await hung.firstStart()
  expect((await holders(pulse)).filter(belongsTo(hung))).toHaveLength(1)
  const second = await other.line((line) => line.kind === 'start' && line.fireTime === first.fireTime)
  expect(second.at - first.at).toBeLessThan(task.timeoutMs + 500 + leaseMs + heartbeatMs + slackMs)
  expect((await holders(pulse)).filter(belongsTo(hung))).toEqual([])
}

/** The session that holds both is ended by the server: the run is told, its loop blocked or not, and is tried again under a new lock. */
async function lostWithItsSession(pulse: PulseCluster): Promise<void> {
  const instance = pulse.instance({ do: 'spin', ms: 30_000 }, { ...options, leaseMs: 12_000, heartbeatMs: 1_000 }, { everyMs: far })
  await instance.started()
  await pulse.cluster.makeDue('job')
  const first = await instance.line(({ kind }) => kind === 'start')
  const [held] = await holders(pulse)
  await pulse.cluster.query('SELECT pg_terminate_backend(CAST(? AS integer)) AS done', [held?.pid as number])
  const look = await instance.line(({ kind }) => kind === 'look')
  expect(look).toMatchObject({ aborted: true })
  expect(look.afterMs).toBeLessThan(12_000)
  expect(await instance.event('execution.retry')).toMatchObject({ fireTime: first.fireTime, reason: 'lock-lost', attempt: 1 })
  expect(await instance.event('execution.succeeded')).toMatchObject({ fireTime: first.fireTime, attempt: 2 })
  expect(instance.events('node.lost')).toEqual([])
  expect(await instance.stop()).toBe(0)
}

async function foreign(pulse: PulseCluster): Promise<void> {
  const dialect = pulse.cluster.store.connect()
  const { locks } = dialect
  const outsider = await locks.open('pulse', { signal: new AbortController().signal, leaseMs: 180_000, label: 'sched:outsider' })
  try {
    await locks.strategy.tryLock(outsider, { name: lockName('test', 'task', 'job'), owner: 'outsider', ownerLabel: 'outsider', leaseMs: 180_000 })
    const instance = pulse.instance({ do: 'block', ms: 0 }, options)
    const { holder } = await instance.event('lock.foreign') as unknown as { holder: { sessionId?: number } }
    expect(holder.sessionId).toEqual(expect.any(Number))
    expect(await instance.event('slot.skipped')).toMatchObject({ reason: 'overlap' })
    outsider.destroy()
    await instance.event('execution.succeeded')
    expect(await instance.stop()).toBe(0)
  } finally {
    outsider.destroy()
    await dialect.close()
  }
}

runTogether([
  { title: 'P2: the veto lives on the session of the thread: while a handler blocks the loop for three leases nobody else gets it, and none is left', on: ['PostgreSQL'], run: withPulse(keptWhileBlocked) },
  { title: 'P6: the veto of an endless loop is taken from it together with its lease', on: ['PostgreSQL'], run: withPulse(takenFromEndlessLoop) },
  { title: 'P3: a veto lost with its session is seen from a blocked loop, and the run is tried again under a new lock', on: ['PostgreSQL'], run: withPulse(lostWithItsSession) },
  { title: 'P2: a task whose lock an outsider holds does not start, and lock.foreign says who', on: ['PostgreSQL'], run: withPulse(foreign) },
])
