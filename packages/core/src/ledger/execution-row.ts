import type { SqlRow } from '../spi/sql-session.ts'
import type { ExecutionState } from './execution-state.ts'

/** How a slot came to be: by the schedule, by a recovery scan, by hand. */
export type Origin = 'scheduled' | 'catchup' | 'manual'
/** Why this attempt is not the first. */
export type AttemptReason = 'retry' | 'recovered' | 'interrupted' | 'lock-lost'

/** What the executor needs to know of an execution before it starts an attempt. */
export interface ExecutionRow {
  readonly executionId: string
  readonly taskName: string
  readonly fireTime: number
  readonly dueAt: number
  readonly state: ExecutionState
  readonly origin: Origin
  readonly attemptReason: AttemptReason | null
  /** Attempts charged so far. */
  readonly attempt: number
  readonly crashCount: number
}

export const executionColumns = 'execution_id, task_name, fire_time, due_at, state, origin, attempt_reason, attempt, crash_count'

export function toExecution(row: SqlRow): ExecutionRow {
  return {
    executionId: row['execution_id'] as string,
    taskName: row['task_name'] as string,
    fireTime: row['fire_time'] as number,
    dueAt: row['due_at'] as number,
    state: row['state'] as ExecutionState,
    origin: row['origin'] as Origin,
    attemptReason: row['attempt_reason'] as AttemptReason | null,
    attempt: row['attempt'] as number,
    crashCount: row['crash_count'] as number,
  }
}
