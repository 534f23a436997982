import type { SqlRow } from '../spi/sql-session.ts'
import type { ExecutionState } from './execution-state.ts'

/** How a slot came to be: by the schedule, by a recovery scan, by hand. */
export type Origin = 'scheduled' | 'catchup' | 'manual'
/** Why there is another attempt: of itself, or (`manual`, which stays) because a person asked for it. */
export type AttemptReason = 'retry' | 'recovered' | 'interrupted' | 'lock-lost' | 'manual'

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

/** A person asked for it: it runs in a paused or stalled task too. */
export function byHand({ origin, attemptReason }: Pick<ExecutionRow, 'origin' | 'attemptReason'>): boolean { return origin === 'manual' || attemptReason === 'manual' }

/** The same of a row in SQL. `alias`: of the table, with its dot. */
export function rowByHand(alias = ''): string { return `(${alias}origin = 'manual' OR ${alias}attempt_reason = 'manual')` }

/** What a row has before its first start. */
export const slotColumns = 'namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash'

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
