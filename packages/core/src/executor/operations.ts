import { readClock } from '../ledger/heartbeat.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { listExecutions, type ExecutionFilter, type ExecutionRecord } from '../ledger/list.ts'
import { cancelExecution, pauseTask, resumeTask, triggerTask, type CancelOutcome } from '../ledger/operate.ts'
import { retryExecution, type RetryOutcome } from '../ledger/retry-execution.ts'
import { readTask, readTasks } from '../ledger/tasks.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { ScheduleDefinition } from '../schedule/schedule.ts'
import { explainFireTime, type Explanation } from './explain.ts'
import { checkDefinition, checkFilter, checkKey, checkName, checkOptions, checkReason, checkTime } from './operation-arguments.ts'
import { rescheduleTask } from './reschedule.ts'
import { listTaskLocks, type TaskLock } from './task-locks.ts'
import { storedSchedule } from './task-spec.ts'

export interface TaskInfo {
  readonly name: string
  readonly state: 'active' | 'paused' | 'stalled' | 'retired'
  readonly reason: string | null
  readonly revision: number
  /** A schedule set at run time rules. */
  readonly overridden: boolean
}

/**
 * What a person may ask and do, from code or from the `sched` command. Every node obeys within one heartbeat. All of it rejects with
 * SCHED_OPTION_INVALID when an argument is not what it should be.
 */
export interface Operations {
  /** No further slot is claimed; running attempts go on. False when it was not active. @throws SchedError SCHED_TASK_UNKNOWN */
  pause(task: string, options?: { reason?: string }): Promise<boolean>
  /** Also ends `stalled`. What fired meanwhile is not caught up: one `missed` record with the code `paused` or `stalled` says how much it was. False when it was active. @throws SchedError SCHED_TASK_UNKNOWN, also for a retired task */
  resume(task: string): Promise<boolean>
  /**
   * Runs the task once, as soon as no other run of it is on (with overlap `allow`: at once), also when it is paused or stalled. The same `key` twice
   * makes one execution. @throws SchedError SCHED_TASK_UNKNOWN
   */
  trigger(task: string, options?: { key?: string }): Promise<{ executionId: string; created: boolean }>
  /** Ends what waits (`execution.cancelled` on this instance); asks what runs to end (`execution.failed` on its own). */
  cancel(executionId: string): Promise<CancelOutcome>
  /**
   * One further attempt of an execution that failed, was skipped or missed, due now, also in a task that is paused or stalled; its fire time
   * stays what it was, `ctx.reason` is `manual`. Attempts go on counting: one that throws after the last retry fails the execution again.
   * A record of many missed fire times runs once, for the latest of them.
   * @throws SchedError SCHED_TASK_UNKNOWN when the task is retired
   */
  retry(executionId: string): Promise<RetryOutcome>
  /**
   * Another schedule instead of the code's, until it is cleared with null; it survives deployments. Zone, `dst`, `startAt` and `endAt` that are left
   * out are as in the code. What the schedule before had left becomes one `missed` record with the code `redefined`.
   * @throws SchedError SCHED_TASK_UNKNOWN, SCHED_OPTION_INVALID, SCHED_CRON_SYNTAX, SCHED_CRON_NEVER, SCHED_TIME_ZONE_UNKNOWN, SCHED_CONTENDED
   */
  reschedule(task: string, schedule: ScheduleDefinition | null): Promise<void>
  /** Why a fire time did or did not run. */
  explain(task: string, time: Date): Promise<Explanation>
  tasks(): Promise<TaskInfo[]>
  /** Newest first. */
  executions(filter?: ExecutionFilter): Promise<ExecutionRecord[]>
  /**
   * The tasks whose gate is held, and by whom; with a name that task's, held or not: so a lock that somebody outside the ledger holds is seen.
   * @throws SchedError SCHED_TASK_UNKNOWN
   */
  locks(task?: string): Promise<TaskLock[]>
}

export interface OperationHooks {
  /** Something this node should look at before its next heartbeat. */
  readonly changed?: () => Promise<void>
  readonly cancel?: (executionId: string) => Promise<CancelOutcome>
  /** Who holds the lock of a task beside the ledger. */
  readonly lockHolder?: ((task: string) => Promise<LockHolder | null>) | undefined
}

export function createOperations(ledger: Ledger, hooks: OperationHooks = {}): Operations {
  const changed = async <T>(value: T): Promise<T> => { await hooks.changed?.(); return value }
  const now = async (): Promise<number> => (await ledger.store.run('reading the clock', readClock(ledger))).rows[0]?.['db_now'] as number
  return {
    async pause(task, options = {}) {
      checkName('task', task)
      checkOptions(options)
      checkReason(options.reason)
      return changed(await pauseTask(ledger, task, options.reason))
    },
    async resume(task) {
      checkName('task', task)
      return changed(await resumeTask(ledger, task, storedSchedule))
    },
    async trigger(task, options = {}) {
      checkName('task', task)
      checkOptions(options)
      checkKey(options.key)
      return changed(await triggerTask(ledger, task, options.key))
    },
    async cancel(executionId) {
      checkName('executionId', executionId)
      return hooks.cancel?.(executionId) ?? cancelExecution(ledger, executionId, 'cancelled by hand.')
    },
    async retry(executionId) {
      checkName('executionId', executionId)
      return changed(await retryExecution(ledger, executionId))
    },
    async reschedule(task, definition) {
      checkName('task', task)
      checkDefinition(definition)
      return changed(await rescheduleTask(ledger, task, definition, now))
    },
    async explain(task, time) {
      checkName('task', task)
      checkTime(time)
      return explainFireTime(ledger, task, await readTask(ledger, task), time, await now())
    },
    async tasks() {
      return [...(await readTasks(ledger)).values()].map(({ taskName, state, stateReason, revision, override }) => ({ name: taskName, state, reason: stateReason, revision, overridden: override !== null }))
    },
    async executions(filter = {}) {
      checkFilter(filter)
      return listExecutions(ledger, filter)
    },
    async locks(task) {
      if (task !== undefined) checkName('task', task)
      return listTaskLocks(ledger, task, hooks.lockHolder)
    },
  }
}
