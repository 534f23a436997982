import { SchedError } from '../errors.ts'

export type ExecutionState = 'pending' | 'running' | 'retry' | 'succeeded' | 'failed' | 'skipped' | 'missed'

/**
 * Every legal change of an execution's state. The statements mirror it by compare-and-set; `new` is a row that does not exist yet.
 * `interrupted` (drain) is `retry` with the attempt not charged; `cancelled` is `failed` with a code.
 */
export const transitions: Readonly<Record<ExecutionState | 'new', readonly ExecutionState[]>> = {
  new: ['pending', 'missed', 'skipped'],
  pending: ['running', 'skipped', 'missed', 'failed'],
  running: ['succeeded', 'failed', 'retry'],
  retry: ['running', 'failed'],
  succeeded: [],
  failed: ['retry'], // by hand
  skipped: ['retry'], // by hand
  missed: ['retry'], // by hand
}

export const terminalStates: readonly ExecutionState[] = ['succeeded', 'failed', 'skipped', 'missed']

/** The new state, or an error: a change that the table does not hold is a defect, not a result. */
export function transition(from: ExecutionState | 'new', to: ExecutionState): ExecutionState {
  if (transitions[from].includes(to)) return to
  throw new SchedError('SCHED_STATEMENT_FAILED', `an execution cannot go from ${from} to ${to}.`)
}
