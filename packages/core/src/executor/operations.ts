import { SchedError } from '../errors.ts'
import { readClock } from '../ledger/heartbeat.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { listExecutions, type ExecutionFilter, type ExecutionRecord } from '../ledger/list.ts'
import { cancelExecution, overrideSchedule, pauseTask, requireTask, resumeTask, triggerTask, type CancelOutcome } from '../ledger/operate.ts'
import { readTask, readTasks } from '../ledger/tasks.ts'
import { assertFiresAfter, compileSchedule, type ScheduleDefinition } from '../schedule/schedule.ts'
import { explainFireTime, type Explanation } from './explain.ts'
import { hashSpec, scheduleSpec } from './task-spec.ts'

export interface TaskInfo {
  readonly name: string
  readonly state: 'active' | 'paused' | 'stalled' | 'retired'
  readonly reason: string | null
  readonly revision: number
  /** A schedule set at run time rules. */
  readonly overridden: boolean
}

/** What a person may ask and do, from code or from the `sched` command. Every node obeys within one heartbeat. */
export interface Operations {
  /** No further slot is claimed; running attempts go on. False when it was not active. @throws SchedError SCHED_TASK_UNKNOWN */
  pause(task: string, options?: { reason?: string }): Promise<boolean>
  /** Also ends `stalled`. What fired meanwhile is not missed. False when it was active. @throws SchedError SCHED_TASK_UNKNOWN */
  resume(task: string): Promise<boolean>
  /** Runs the task once, now, also when it is paused or stalled. The same `key` twice makes one execution. @throws SchedError SCHED_TASK_UNKNOWN */
  trigger(task: string, options?: { key?: string }): Promise<{ executionId: string; created: boolean }>
  /** Ends what waits; asks what runs to end. */
  cancel(executionId: string): Promise<CancelOutcome>
  /**
   * Another schedule instead of the code's, until it is cleared with null; it survives deployments.
   * @throws SchedError SCHED_TASK_UNKNOWN, SCHED_CRON_SYNTAX, SCHED_CRON_NEVER, SCHED_TIME_ZONE_UNKNOWN, SCHED_CONTENDED
   */
  reschedule(task: string, schedule: Pick<ScheduleDefinition, 'cron' | 'everyMs' | 'timeZone' | 'dst'> | null): Promise<void>
  /** Why a fire time did or did not run. */
  explain(task: string, time: Date): Promise<Explanation>
  tasks(): Promise<TaskInfo[]>
  /** Newest first. */
  executions(filter?: ExecutionFilter): Promise<ExecutionRecord[]>
}

export interface OperationHooks {
  /** Something this node should look at before its next heartbeat. */
  readonly changed: () => Promise<void>
  readonly cancel: (executionId: string) => Promise<CancelOutcome>
}

export function createOperations(ledger: Ledger, hooks?: OperationHooks): Operations {
  const changed = async <T>(value: T): Promise<T> => { await hooks?.changed(); return value }
  const now = async (): Promise<number> => (await ledger.store.run('reading the clock', readClock(ledger))).rows[0]?.['db_now'] as number
  return {
    pause: async (task, { reason } = {}) => changed(await pauseTask(ledger, task, reason)),
    resume: async (task) => changed(await resumeTask(ledger, task)),
    trigger: async (task, { key } = {}) => changed(await triggerTask(ledger, task, key)),
    cancel: (executionId) => hooks?.cancel(executionId) ?? cancelExecution(ledger, executionId, 'cancelled by hand.'),
    async reschedule(task, definition) {
      const row = await readTask(ledger, task)
      if (row === undefined) return requireTask(ledger, task)
      const schedule = definition === null ? null : compileSchedule(definition)
      if (schedule !== null) assertFiresAfter(schedule, await now())
      const override = schedule === null || definition === null ? null : JSON.stringify(scheduleSpec(schedule, definition))
      if (!await overrideSchedule(ledger, row, override, hashSpec(row.spec, override))) {
        throw new SchedError('SCHED_CONTENDED', `the definition of ${JSON.stringify(task)} changed at the same moment.`, { remedy: 'Look at it and try again.' })
      }
      return changed(undefined)
    },
    async explain(task, time) { return explainFireTime(ledger, task, await readTask(ledger, task), time, await now()) },
    async tasks() {
      return [...(await readTasks(ledger)).values()].map(({ taskName, state, stateReason, revision, override }) => ({ name: taskName, state, reason: stateReason, revision, overridden: override !== null }))
    },
    executions: (filter = {}) => listExecutions(ledger, filter),
  }
}
