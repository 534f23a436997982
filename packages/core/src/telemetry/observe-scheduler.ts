import { register } from 'prom-client'
import { isSchedError, type ErrorCode } from '../errors.ts'
import type { AttemptRef } from '../executor/events.ts'
import { watchHealth } from './health.ts'
import { schedulerMetrics, type SchedulerMetrics } from './metric-definitions.ts'
import { claimSeries, metricSet, type MetricRegistry, type MetricSet } from './metric-set.ts'
import { subscribe, type EventSource } from './subscribe.ts'

export interface ObserveOptions {
  /** Where the metrics are registered: a `Registry` of prom-client. Default: prom-client's global one. */
  registry?: MetricRegistry
  /** Constant labels on every metric, e.g. `{ namespace: 'billing' }`: what tells two schedulers on one registry apart. Default: none. */
  labels?: Readonly<Record<string, string>>
}

const outcomes = ['succeeded', 'failed', 'retry', 'fenced', 'unfinished'] as const
const retryReasons = ['retry', 'recovered', 'interrupted', 'lock-lost'] as const
const startReasons = ['scheduled', 'catchup', 'manual', ...retryReasons] as const
const failureCodes: readonly ErrorCode[] = ['SCHED_TASK_FAILED', 'SCHED_TASK_TIMEOUT', 'SCHED_TASK_CANCELLED', 'SCHED_LEASE_LOST', 'SCHED_TASK_POISON']

/**
 * Shows a scheduler's events as Prometheus metrics; `docs/observability.md` lists them. To be called before `start()`. The result stops
 * observing; what was counted stays in the registry.
 * @throws SchedError SCHED_OPTION_INVALID when the registry has metrics of the same names, or an observer with the same labels
 */
export function observeScheduler(scheduler: EventSource, options: ObserveOptions = {}): () => void {
  const { registry = register, labels = {} } = options
  const metrics = metricSet(schedulerMetrics, registry, labels)
  const free = claimSeries('scheduler', registry, labels)
  const health = watchHealth(scheduler)
  const stops = [
    free,
    () => health.stop(),
    metrics.scheduler_healthy.sample(() => (health.report().healthy ? 1 : 0)),
    metrics.scheduler_heartbeat_age_seconds.sample(() => (health.report().heartbeatAgeMs ?? 0) / 1000),
    metrics.scheduler_recovery_blocked.sample(() => health.report().blockedRecovery.length),
    countTasks(scheduler, metrics),
    countNode(scheduler, metrics),
  ]
  return () => { for (const stop of stops) stop() }
}

function countTasks(scheduler: EventSource, metrics: MetricSet<SchedulerMetrics>): () => void {
  const known = new Set<string>()
  /** A counter that appears with its first increment hides it from `rate` and `increase`. */
  const introduce = (task_name: string): void => {
    if (known.has(task_name)) return
    known.add(task_name)
    for (const reason of startReasons) metrics.task_starts_total.inc({ task_name, reason }, 0)
    for (const outcome of outcomes) metrics.task_runs_total.inc({ task_name, outcome }, 0)
    for (const code of failureCodes) metrics.task_failed_total.inc({ task_name, code }, 0)
    for (const reason of retryReasons) metrics.task_retry_total.inc({ task_name, reason }, 0)
    for (const state of ['retry', 'failed']) metrics.task_recovered_total.inc({ task_name, state }, 0)
    for (const reason of ['overlap', 'superseded']) metrics.task_skipped_total.inc({ task_name, reason }, 0)
    for (const counter of [metrics.task_fenced_total, metrics.task_missed_total, metrics.task_left_total, metrics.task_stalled_total, metrics.task_superseded_total, metrics.task_lock_foreign_total]) {
      counter.inc({ task_name }, 0)
    }
    metrics.task_stuck.set({ task_name }, 0)
  }
  /** Events of a task may come before `started`, and tasks that others carry are recovered here too. */
  const of = ({ task }: { readonly task: string }): { readonly task_name: string } => { introduce(task); return { task_name: task } }
  /** When the attempts in hand started, by the database's clock. */
  const startedAt = new Map<string, number>()
  const ended = ({ task: task_name, owner, runMs }: AttemptRef & { runMs: number }, outcome: typeof outcomes[number]): void => {
    const endedAt = (startedAt.get(owner) ?? NaN) + runMs
    startedAt.delete(owner)
    if (outcome === 'succeeded' && !Number.isNaN(endedAt)) metrics.task_last_success_timestamp_seconds.set({ task_name }, endedAt / 1000)
    metrics.task_runs_total.inc({ task_name, outcome })
    metrics.task_duration_seconds.observe({ task_name }, runMs / 1000)
  }

  return subscribe(scheduler, {
    started: ({ tasks }) => { for (const task of tasks) introduce(task) },
    'execution.started': (event) => {
      const { owner, fireTime, lateMs, origin, attemptReason, delayMs, priority } = event
      startedAt.set(owner, fireTime + lateMs)
      metrics.task_starts_total.inc({ ...of(event), reason: attemptReason ?? origin })
      if (attemptReason === null) metrics.task_delay_seconds.observe({ ...of(event), priority: String(priority) }, Math.max(0, delayMs) / 1000)
    },
    'execution.succeeded': (event) => { ended(event, 'succeeded') },
    'execution.failed': (event) => {
      ended(event, 'failed')
      metrics.task_failed_total.inc({ ...of(event), code: isSchedError(event.error) ? event.error.code : 'SCHED_TASK_FAILED' })
    },
    'execution.retry': (event) => {
      ended(event, 'retry')
      metrics.task_retry_total.inc({ ...of(event), reason: event.reason })
    },
    'execution.fenced': (event) => {
      ended(event, 'fenced')
      metrics.task_fenced_total.inc(of(event))
    },
    'execution.unfinished': (event) => { ended(event, 'unfinished') },
    'execution.recovered': (event) => {
      metrics.task_recovered_total.inc({ ...of(event), state: event.state })
      if (event.state === 'retry') metrics.task_retry_total.inc({ ...of(event), reason: 'recovered' })
      else metrics.task_failed_total.inc({ ...of(event), code: event.errorCode })
    },
    'execution.cancelled': (event) => { metrics.task_failed_total.inc({ ...of(event), code: event.error.code }) },
    'slot.skipped': (event) => { metrics.task_skipped_total.inc({ ...of(event), reason: event.reason }) },
    'slot.missed': (event) => { metrics.task_missed_total.inc(of(event), event.count) },
    'slot.left': (event) => { metrics.task_left_total.inc(of(event)) },
    'task.stuck': (event) => { metrics.task_stuck.add(of(event), 1) },
    'task.unstuck': (event) => { metrics.task_stuck.add(of(event), -1) },
    'task.stalled': (event) => { metrics.task_stalled_total.inc(of(event)) },
    'definition.superseded': (event) => { metrics.task_superseded_total.inc(of(event)) },
    'lock.foreign': (event) => { metrics.task_lock_foreign_total.inc(of(event)) },
    'lock.acquire': ({ kind, outcome, durationMs }) => { metrics.lock_acquire_duration_ms.observe({ kind, outcome }, durationMs) },
  })
}

function countNode(scheduler: EventSource, metrics: MetricSet<SchedulerMetrics>): () => void {
  for (const counter of [metrics.scheduler_heartbeat_failures_total, metrics.scheduler_lease_lost_total, metrics.scheduler_event_loop_blocked_total]) counter.inc({}, 0)
  return subscribe(scheduler, {
    heartbeat: ({ clockOffsetMs, uncertaintyMs, overdueMs, otherZoneData, workers, loopLag }) => {
      metrics.scheduler_clock_skew_seconds.set({}, clockOffsetMs / 1000)
      metrics.scheduler_clock_uncertainty_seconds.set({}, uncertaintyMs / 1000)
      metrics.scheduler_tzdata_mismatch.set({}, otherZoneData)
      metrics.task_overdue_seconds.set({}, overdueMs / 1000)
      metrics.scheduler_workers_busy.set({}, workers.busy)
      metrics.scheduler_workers_waiting.set({}, workers.waiting)
      metrics.scheduler_workers_limit.set({}, workers.limit)
      for (const [stat, ms] of [['mean', loopLag.meanMs], ['p99', loopLag.p99Ms], ['max', loopLag.maxMs]] as const) metrics.scheduler_event_loop_lag_seconds.set({ stat }, ms / 1000)
    },
    'heartbeat.failed': () => { metrics.scheduler_heartbeat_failures_total.inc({}) },
    'node.lost': () => { metrics.scheduler_lease_lost_total.inc({}) },
    'loop.blocked': () => { metrics.scheduler_event_loop_blocked_total.inc({}) },
    error: ({ error }) => { metrics.scheduler_errors_total.inc({ code: isSchedError(error) ? error.code : 'other' }) },
  })
}
