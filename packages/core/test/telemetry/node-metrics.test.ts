import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createScheduler } from '../../src/executor/scheduler.ts'
import { Events } from '../../src/executor/events.ts'
import { Registry } from 'prom-client'
import type { Dialect } from '../../src/spi/dialect.ts'
import type { StoreDialect } from '../../src/spi/store-dialect.ts'
import { observeScheduler } from '../../src/telemetry/observe-scheduler.ts'
import { ObservedNode, behindItsBack, scratchFile, untilValue, valueOf } from './observed-node.ts'

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

/** The same database, its clock ahead of this host's. */
function ahead(ms: number): (dialect: Dialect) => Dialect {
  return (dialect) => {
    const store = dialect.store as StoreDialect
    return { ...dialect, store: { ...store, sql: { ...store.sql, nowMs: `(${store.sql.nowMs} + ${ms})` } } }
  }
}

describe('what an instance shows as metrics', { timeout: 90_000 }, () => {
  it('P9: the clock of the database: scheduler_clock_skew_seconds and scheduler_clock_uncertainty_seconds', async () => {
    const node = new ObservedNode({ wrap: ahead(5_000) })
    node.scheduler.task('tick', { everyMs: 1_000 }, () => {})
    await node.scheduler.start()
    await node.until('scheduler_clock_skew_seconds', {}, (seconds) => Math.abs(seconds - 5) < 0.5)
    await node.until('scheduler_clock_uncertainty_seconds', {}, (seconds) => seconds > 0 && seconds < 0.5)
    await node.until('task_last_success_timestamp_seconds', { task_name: 'tick' }, (seconds) => seconds - Date.now() / 1000 > 3)
  })

  it('the local pool: scheduler_workers_busy, scheduler_workers_waiting, scheduler_workers_limit', async () => {
    const node = new ObservedNode({ concurrency: 1 })
    for (const name of ['a', 'b', 'c']) node.scheduler.task(name, { everyMs: 1_000 }, () => sleep(800))
    await node.scheduler.start()
    await node.until('scheduler_workers_waiting')
    await node.until('scheduler_workers_busy', {}, (busy) => busy === 1)
    expect(await node.value('scheduler_workers_limit')).toBe(1)
  })

  it('P5: a handler that holds the event loop: scheduler_event_loop_lag_seconds, and scheduler_event_loop_blocked_total beyond a lease', async () => {
    const node = new ObservedNode({ leaseMs: 2_500, heartbeatMs: 250 })
    const told: number[] = []
    node.scheduler.on('loop.blocked', ({ blockedMs, leaseMs }) => { told.push(blockedMs); expect(leaseMs).toBe(2_500) })
    node.scheduler.task('rude', { cron: '@yearly' }, ({ attempt }) => { if (attempt === 1) block(600) })
    node.scheduler.task('hog', { cron: '@yearly' }, ({ attempt }) => { if (attempt === 1) block(4_000) })
    await node.scheduler.start()
    await node.scheduler.trigger('rude')
    await node.until('scheduler_event_loop_lag_seconds', { stat: 'max' }, (seconds) => seconds > 0.4)
    expect(await node.value('scheduler_event_loop_lag_seconds', { stat: 'p99' })).toBeGreaterThan(0.4)
    expect(await node.value('scheduler_event_loop_lag_seconds', { stat: 'mean' })).toBeGreaterThan(0)
    expect(await node.value('scheduler_event_loop_blocked_total')).toBe(0)
    await node.scheduler.trigger('hog')
    await node.until('scheduler_event_loop_blocked_total', {}, (count) => count === 1)
    expect(told[0]).toBeGreaterThan(3_500)
    // Its lease counts as lost, its result is fenced, and the execution runs again.
    await node.until('task_fenced_total', { task_name: 'hog' })
    await node.until('task_runs_total', { task_name: 'hog', outcome: 'succeeded' })
    await sleep(600)
    expect(told).toHaveLength(1)
  })

  it('the event loop is watched with the pulse on a worker thread too: scheduler_event_loop_lag_seconds', async () => {
    const registry = new Registry()
    const scheduler = createScheduler({ url: `sqlite:${scratchFile()}`, pulse: 'worker', namespace: 'test', signals: false, leaseMs: 30_000, heartbeatMs: 250 })
    onTestFinished(() => scheduler.stop())
    observeScheduler(scheduler, { registry })
    // Again and again: beats that the thread sent meanwhile come all at once, and the last of them tells of no block.
    scheduler.task('rude', { everyMs: 1_000 }, () => { block(500) })
    await scheduler.start()
    await untilValue(registry, 'scheduler_event_loop_lag_seconds', { stat: 'max' }, (seconds) => seconds > 0.3)
  })

  it('P10: a database that does not answer: scheduler_heartbeat_failures_total, scheduler_heartbeat_age_seconds, scheduler_errors_total, scheduler_healthy', async () => {
    const node = new ObservedNode({ leaseMs: 2_000, heartbeatMs: 250 })
    node.scheduler.task('tick', { everyMs: 1_000 }, () => {})
    expect(await node.value('scheduler_healthy')).toBe(0)
    await node.scheduler.start()
    await node.until('scheduler_healthy')
    await node.until('scheduler_heartbeat_age_seconds', {}, (seconds) => seconds < 1.5)
    const writer = behindItsBack(node.file)
    writer.exec('BEGIN IMMEDIATE')
    await node.until('scheduler_heartbeat_failures_total')
    await node.until('scheduler_lease_lost_total')
    expect(await node.value('scheduler_heartbeat_age_seconds')).toBeGreaterThan(1)
    expect(await node.value('scheduler_healthy')).toBe(0)
    writer.exec('ROLLBACK')
    await node.until('scheduler_healthy')
    expect(await node.value('scheduler_errors_total', { code: (node.errors[0] as { code?: string }).code ?? 'other' })).toBeGreaterThanOrEqual(1)
  })

  it('P10: live instances with other time zone data: scheduler_tzdata_mismatch, and one warning each time it begins', async () => {
    const node = new ObservedNode()
    const warnings: string[] = []
    node.scheduler.on('warning', ({ finding }) => { if (finding.code === 'SCHED_ZONE_DATA_DIFFERS') warnings.push(finding.message) })
    await node.scheduler.start()
    expect(await node.until('scheduler_tzdata_mismatch', {}, () => true)).toBe(0)
    const behind = behindItsBack(node.file)
    behind.exec(`INSERT INTO sched_nodes (namespace, node_id, state, lease_until, started_at, node_label, revision, versions) SELECT namespace, 'other', 'alive', lease_until + 600000, started_at, 'elsewhere:1', revision, '{"tzdata":"1999a"}' FROM sched_nodes`)
    await node.until('scheduler_tzdata_mismatch', {}, (count) => count === 1)
    await sleep(600)
    expect(warnings).toEqual([expect.stringContaining(`1 live instance has other time zone data than this one (${process.versions.tz})`)])
    behind.exec(`UPDATE sched_nodes SET state = 'dead' WHERE node_id = 'other'`)
    await node.until('scheduler_tzdata_mismatch', {}, (count) => count === 0)
    behind.exec(`UPDATE sched_nodes SET state = 'alive' WHERE node_id = 'other'`)
    await node.until('scheduler_tzdata_mismatch', {}, (count) => count === 1)
    expect(warnings).toHaveLength(2)
  })

  it('the right to run: lock_acquire_duration_ms of the gate, granted and refused', async () => {
    const node = new ObservedNode()
    node.scheduler.task('long', { everyMs: 1_000 }, () => sleep(1_500))
    node.scheduler.task('free', { everyMs: 1_000, overlap: 'allow' }, () => {})
    await node.scheduler.start()
    await node.until('lock_acquire_duration_ms_count', { kind: 'gate', outcome: 'refused' })
    await node.until('task_runs_total', { task_name: 'free', outcome: 'succeeded' })
    // Whoever needs no gate asks for none.
    expect(await node.value('lock_acquire_duration_ms_count', { kind: 'gate', outcome: 'acquired' })).toBe(await node.value('task_starts_total', { task_name: 'long' }))
    expect(await node.value('lock_acquire_duration_ms_sum', { kind: 'gate', outcome: 'acquired' })).toBeGreaterThan(0)
    expect(await node.value('lock_acquire_duration_ms_count', { kind: 'veto' })).toBeUndefined()
  })

  it('rows that a foreign transaction holds: scheduler_recovery_blocked, while it is reported (events by hand: SQLite has no row locks)', async () => {
    const events = new Events()
    const registry = new Registry()
    observeScheduler({ on: (name, listener) => events.on(name, listener) }, { registry })
    expect(await valueOf(registry, 'scheduler_recovery_blocked')).toBe(0)
    events.emit('recovery.blocked', { what: ['execution 1', 'gate of settle'] })
    expect(await valueOf(registry, 'scheduler_recovery_blocked')).toBe(2)
  })
})
