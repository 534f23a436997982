import { SchedError, type LockOutcome } from '@sched/core/spi'

// REQUEST and RELEASE never raise; they answer with a number.
// https://docs.oracle.com/en/database/oracle/oracle-database/23/arpls/DBMS_LOCK.html, "REQUEST Function" and "RELEASE Function"
export const requestStatus = {
  /** It is ours now. */
  success: 0,
  /** Somebody else had it for the whole wait, which may have been none. */
  timeout: 1,
  /** Waiting would have closed a circle of waiters: this session holds what another of them waits for. */
  deadlock: 2,
  /** A number of the call is out of its range: a defect of ours. */
  parameterError: 3,
  /**
   * REQUEST: this session has it already; it is not counted, one RELEASE frees it. RELEASE: this session has it not.
   * The core never asks twice on one session, so from a try it is a defect: two owners would believe that they hold it.
   */
  own: 4,
  /** The handle is none: a defect of ours. */
  illegalHandle: 5,
} as const

/** @throws SchedError for a status that is neither a grant nor a refusal */
export function outcomeOf(status: number, lockName: string): LockOutcome {
  if (status === requestStatus.success) return { status: 'granted' }
  if (status === requestStatus.timeout) return { status: 'refused' }
  throw statusError('REQUEST', status, lockName)
}

export function statusError(call: 'REQUEST' | 'RELEASE', status: number, lockName: string): SchedError {
  const details = { lockName, status }
  const answered = `DBMS_LOCK.${call} answered ${status} for the lock ${JSON.stringify(lockName)}`
  switch (status) {
    case requestStatus.deadlock:
      return new SchedError('SCHED_LOCK_DEADLOCK', `${answered}: waiting for it would be a deadlock.`, { details: { ...details, errorClass: 'deadlock' } })
    case requestStatus.own:
      // `unknown` ends the session: nobody can say any more who of the two holds it.
      return new SchedError('SCHED_STATEMENT_FAILED', `${answered}: this session holds it already, for another owner.`, { details: { ...details, errorClass: 'unknown' } })
    case requestStatus.illegalHandle:
      return new SchedError('SCHED_LOCK_NAME_INVALID', `${answered}: the handle of the name is not valid.`, { details: { ...details, errorClass: 'name-invalid' } })
    default:
      return new SchedError('SCHED_STATEMENT_FAILED', `${answered}, which is no answer we know.`, { details: { ...details, errorClass: 'unknown' } })
  }
}
