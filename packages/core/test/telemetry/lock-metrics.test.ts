import { setTimeout as sleep } from 'node:timers/promises'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLocks } from '../../src/locks/create-locks.ts'
import type { LockEvent } from '../../src/locks/lock-events.ts'
import type { Locks } from '../../src/locks/locks.ts'
import type { Dialect } from '../../src/spi/dialect.ts'
import { lockName } from '../../src/spi/lock-name.ts'
import { tableNames } from '../../src/ledger/tables.ts'
import { observeLocks, type LockObserver } from '../../src/telemetry/observe-locks.ts'
import { ObservedNode, behindItsBack, scratchFile, untilValue, valueOf } from './observed-node.ts'

function observed(file: string, options: { leaseMs?: number; heartbeatMs?: number } = {}): { locks: Locks; registry: Registry; events: LockEvent[]; observer: LockObserver } {
  const dialect = sqlite({ file }) as Dialect
  const registry = new Registry()
  const events: LockEvent[] = []
  const observer = observeLocks({ registry, next: (event) => { events.push(event) } })
  const locks = observer.measured(createLocks({ dialect, namespace: 'test', onEvent: observer.onEvent, ...options }))
  onTestFinished(async () => {
    await locks.close()
    await dialect.close()
  })
  return { locks, registry, events, observer }
}

const durations = 'lock_acquire_duration_ms_count'

describe('what locks show as metrics', { timeout: 90_000 }, () => {
  it('lock_acquire_duration_ms by outcome (acquired, refused, timeout, failed), and lock_held', async () => {
    const { locks, registry } = observed(scratchFile())
    const count = (outcome: string): Promise<number | undefined> => valueOf(registry, durations, { kind: 'lock', outcome })
    const lease = await locks.acquire('a')
    expect(await valueOf(registry, 'lock_held')).toBe(1)
    expect((await locks.tryAcquire('a')).status).toBe('refused')
    await expect(locks.acquire('a', { waitMs: 60 })).rejects.toMatchObject({ code: 'SCHED_LOCK_TIMEOUT' })
    await expect(locks.with('a', () => 1, { waitMs: 60 })).rejects.toMatchObject({ code: 'SCHED_LOCK_TIMEOUT' })
    await lease.release()
    expect(await valueOf(registry, 'lock_held')).toBe(0)
    expect(await locks.with('a', () => 'done')).toBe('done')
    await expect(locks.with('a', () => { throw new Error('of the work') })).rejects.toThrow('of the work')
    await expect(locks.tryAcquire('')).rejects.toMatchObject({ code: 'SCHED_LOCK_NAME_INVALID' })
    expect([await count('acquired'), await count('refused'), await count('timeout'), await count('failed')]).toEqual([3, 1, 2, 1])
    // The time of the wait, not of the work under the lock.
    expect(await valueOf(registry, 'lock_acquire_duration_ms_sum', { outcome: 'timeout' })).toBeGreaterThanOrEqual(120)
  })

  it('P4: lock_lost_total counts a lease that somebody else ended', async () => {
    const file = scratchFile()
    const { locks, registry, events } = observed(file, { leaseMs: 1_500, heartbeatMs: 200 })
    await locks.acquire('a')
    behindItsBack(file).exec(`UPDATE sched_locks SET lock_owner = 'somebody-else'`)
    await untilValue(registry, 'lock_lost_total', {}, (value) => value === 1)
    expect(events.map(({ kind }) => kind)).toContain('lock.lost')
  })

  it('P10: lock_heartbeat_failures_total, lock_release_failures_total and lock_sessions_lost_total count what goes on behind the calls', async () => {
    const file = scratchFile()
    const { locks, registry, events, observer } = observed(file, { leaseMs: 1_500, heartbeatMs: 150 })
    const lease = await locks.acquire('a')
    for (const name of ['lock_heartbeat_failures_total', 'lock_release_failures_total', 'lock_sessions_lost_total', 'lock_lost_total']) expect(await valueOf(registry, name)).toBe(0)
    const behind = behindItsBack(file)
    behind.exec('ALTER TABLE sched_locks RENAME TO hidden')
    await untilValue(registry, 'lock_heartbeat_failures_total', {}, (value) => value > 0)
    expect(await lease.release()).toEqual({ status: 'lost' })
    await untilValue(registry, 'lock_release_failures_total', {}, (value) => value > 0)
    behind.exec('ALTER TABLE hidden RENAME TO sched_locks')
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['lock.heartbeat-failed', 'lock.release-failed']))
    observer.onEvent({ kind: 'lock.session-lost', sessionId: 1, held: 0, error: new Error('by hand: an embedded database has no session to lose') })
    expect(await valueOf(registry, 'lock_sessions_lost_total')).toBe(1)
    expect(() => observeLocks({ registry })).toThrow(/SCHED_OPTION_INVALID: another observer of locks/)
    observer.stop()
    observeLocks({ registry })
    observer.onEvent({ kind: 'lock.session-lost', sessionId: 1, held: 0, error: new Error('after the stop') })
    expect(await valueOf(registry, 'lock_sessions_lost_total')).toBe(1)
  })

  it('P2: the veto beside the ledger: lock_acquire_duration_ms of kind veto, task_lock_foreign_total, and task_retry_total with the reason lock-lost', async () => {
    const node = new ObservedNode({ lockVeto: 'on', heartbeatMs: 200 })
    let calls = 0
    node.scheduler.task('job', { everyMs: 1_000 }, async ({ signal }) => {
      calls += 1
      if (calls === 1) await sleep(80_000, undefined, { signal })
    })
    node.scheduler.task('foreign', { everyMs: 1_000 }, () => {})
    const dialect = sqlite({ file: node.file }) as Dialect
    const source = dialect.locks
    await node.scheduler.start()
    const tables = tableNames((dialect.store as NonNullable<Dialect['store']>).sql)
    const outsider = await source.open('pulse', { signal: new AbortController().signal, leaseMs: 60_000, label: 'outsider', tables })
    onTestFinished(async () => { outsider.destroy(); await dialect.close() })
    await node.until(durations, { kind: 'veto', outcome: 'acquired' })
    for (let granted = false; !granted;) {
      const outcome = await source.strategy.tryLock(outsider, { name: lockName('test', 'task', 'foreign'), owner: 'outsider', ownerLabel: 'outsider', leaseMs: 60_000 })
      granted = outcome.status === 'granted'
      // The run that holds it must be able to go on.
      await sleep(5)
    }
    await node.until('task_lock_foreign_total', { task_name: 'foreign' })
    await node.until(durations, { kind: 'veto', outcome: 'refused' })
    behindItsBack(node.file).exec(`UPDATE sched_locks SET lock_owner = 'thief' WHERE lock_name LIKE '%job%'`)
    await node.until('task_retry_total', { task_name: 'job', reason: 'lock-lost' })
  })
})
