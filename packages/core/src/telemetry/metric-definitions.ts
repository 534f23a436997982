/** One metric, as Prometheus sees it. */
export interface MetricDefinition {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds, of histograms. */
  readonly buckets?: readonly number[]
}

/** What a scheduler shows. Names, labels and buckets are a contract under semver. */
const ofScheduler = {
  // starts
  task_delay_seconds: {
    kind: 'histogram', labels: ['task_name', 'priority'], buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600],
    help: 'How long after it was due (fire time plus jitter, by the clock of the database) an execution first started.',
  },
  task_starts_total: { kind: 'counter', labels: ['task_name', 'reason'], help: 'Attempts started, by why: scheduled, catchup, manual, retry, recovered, interrupted, lock-lost.' },
  task_overdue_seconds: { kind: 'gauge', labels: [], help: 'How long the oldest due execution of the namespace has been waiting for a start on any instance, as of the last heartbeat.' },
  // ends
  task_runs_total: { kind: 'counter', labels: ['task_name', 'outcome'], help: 'Attempts ended, by outcome: succeeded, failed (for good), retry, fenced, unfinished (its end could not be written).' },
  task_duration_seconds: {
    kind: 'histogram', labels: ['task_name'], buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 1800, 3600], help: 'How long attempts ran, however they ended.',
  },
  task_failed_total: { kind: 'counter', labels: ['task_name', 'code'], help: 'Executions that failed for good, by error code; SCHED_TASK_FAILED is the error of the handler itself, SCHED_TASK_POISON too many crashes.' },
  task_retry_total: { kind: 'counter', labels: ['task_name', 'reason'], help: 'Further attempts that were scheduled, by why: retry, recovered, interrupted, lock-lost.' },
  task_fenced_total: { kind: 'counter', labels: ['task_name'], help: 'Writes of late attempts that were refused: the execution had moved on.' },
  task_recovered_total: { kind: 'counter', labels: ['task_name', 'state'], help: 'Executions of dead instances that this one settled, by their new state: retry, failed.' },
  task_last_success_timestamp_seconds: { kind: 'gauge', labels: ['task_name'], help: 'When this instance last ran the task with success: seconds since the epoch, by the clock of the database.' },
  // what did not run
  task_skipped_total: { kind: 'counter', labels: ['task_name', 'reason'], help: 'Fire times that were recorded as skipped, by why: overlap, superseded.' },
  task_missed_total: { kind: 'counter', labels: ['task_name'], help: 'Fire times that nobody claimed or started in time, and slots of a run-all task beyond its bounds: recorded as missed.' },
  task_left_total: { kind: 'counter', labels: ['task_name'], help: 'Fire times for which this instance was too full to compete.' },
  // what needs a person
  task_stuck: { kind: 'gauge', labels: ['task_name'], help: 'Handlers of this instance that ignore their aborted signal now.' },
  task_stalled_total: { kind: 'counter', labels: ['task_name'], help: 'How often a task was stalled until somebody resumes it.' },
  task_superseded_total: { kind: 'counter', labels: ['task_name'], help: 'How often this instance stood back because another definition of the task rules: of a higher revision or, without revisions, of a later boot.' },
  task_lock_foreign_total: { kind: 'counter', labels: ['task_name'], help: 'Starts refused because somebody outside the ledger holds the lock of the task.' },
  scheduler_recovery_blocked: { kind: 'gauge', labels: [], help: 'Rows of dead instances that a foreign open transaction keeps from being recovered.' },
  // the instance
  scheduler_healthy: { kind: 'gauge', labels: [], help: '1 while this instance holds its lease and nothing is stuck or blocked, else 0.' },
  scheduler_heartbeat_age_seconds: { kind: 'gauge', labels: [], help: 'Time since the last heartbeat that succeeded; grows while the database is away.' },
  scheduler_heartbeat_failures_total: { kind: 'counter', labels: [], help: 'Heartbeats that failed and were tried again.' },
  scheduler_lease_lost_total: { kind: 'counter', labels: [], help: 'How often this instance lost its lease, and with it every attempt it ran.' },
  scheduler_clock_skew_seconds: { kind: 'gauge', labels: [], help: 'How far the clock of the database is ahead of the clock of this host.' },
  scheduler_clock_uncertainty_seconds: { kind: 'gauge', labels: [], help: 'How wrong the measured skew may be: half the shortest recent round trip.' },
  scheduler_tzdata_mismatch: { kind: 'gauge', labels: [], help: 'Live instances whose time zone data is of another version than that of this one, as of the last heartbeat.' },
  scheduler_event_loop_lag_seconds: { kind: 'gauge', labels: ['stat'], help: 'Delay of the event loop between the last two heartbeats: mean, p99, max.' },
  scheduler_event_loop_blocked_total: { kind: 'counter', labels: [], help: 'How often the event loop did not turn for a whole lease.' },
  scheduler_workers_busy: { kind: 'gauge', labels: [], help: 'Local workers in use at the last heartbeat.' },
  scheduler_workers_waiting: { kind: 'gauge', labels: [], help: 'Claims that waited for a local worker at the last heartbeat.' },
  scheduler_workers_limit: { kind: 'gauge', labels: [], help: 'Local workers there are: the option concurrency.' },
  scheduler_errors_total: { kind: 'counter', labels: ['code'], help: 'Error events that are no failure of a task, by code; "other" is no SchedError.' },
} as const

/** The one that schedulers and locks share. */
const ofBoth = {
  lock_acquire_duration_ms: {
    kind: 'histogram', labels: ['kind', 'outcome'], buckets: [1, 5, 10, 50, 100, 500, 1000],
    help: 'Milliseconds to be granted or refused a lock. Kind: gate (the start in the ledger), veto (the lock beside it), lock (createLocks). Outcome: acquired, refused, timeout, failed.',
  },
} as const

/** What locks of `createLocks` show. */
const ofLocks = {
  lock_held: { kind: 'gauge', labels: [], help: 'Locks held now.' },
  lock_lost_total: { kind: 'counter', labels: [], help: 'Locks that ended without the doing of their holder.' },
  lock_heartbeat_failures_total: { kind: 'counter', labels: [], help: 'Renewals that failed and were tried again.' },
  lock_release_failures_total: { kind: 'counter', labels: [], help: 'Releases that could not be confirmed.' },
  lock_sessions_lost_total: { kind: 'counter', labels: [], help: 'Lock sessions that ended without our doing.' },
} as const

const schedulerTable = { ...ofScheduler, ...ofBoth }
const locksTable = { ...ofLocks, ...ofBoth }

export type SchedulerMetrics = typeof ofScheduler & typeof ofBoth
export type LockMetrics = typeof ofLocks & typeof ofBoth

export const schedulerMetrics: SchedulerMetrics = schedulerTable
export const lockMetrics: LockMetrics = locksTable
