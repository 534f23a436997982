import { SchedError, type LockOutcome } from '@sched/core/spi'
import { classifySqlServer, serverNumbers } from '../errors/classify.ts'
import type { ProcedureAnswer } from '../session/physical-session.ts'

// Return codes: https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql
// A negative one comes without an error as a rule (measured on a peer): only the code tells.
export const granted = 0
export const grantedAfterWaiting = 1
export const timedOut = -1
export const cancelled = -2
export const deadlockVictim = -3
export const invalidCall = -999

/** sp_releaseapplock of a lock that this session does not hold, with -999. A peer says -999 alone. */
const notHeldNumber = 1223

/** What sp_getapplock meant. @throws the server's error, or a SchedError for a code that is none of contention */
export function acquireOutcome({ status, error }: ProcedureAnswer, what: string): LockOutcome {
  if (error !== undefined) throw error
  switch (status) {
    case granted: case grantedAfterWaiting: return { status: 'granted' }
    case timedOut: return { status: 'refused' }
    // Cancelled by an attention, which may have crossed the grant on its way.
    case cancelled: return { status: 'indeterminate', reason: 'sp_getapplock answered -2: the call was cancelled' }
    case undefined: return { status: 'indeterminate', reason: 'sp_getapplock ended without a return code' }
    case deadlockVictim: throw new SchedError('SCHED_DEADLOCK', `${what}: sp_getapplock answered -3: chosen as the victim of a deadlock. Transaction and locks of the session stay.`, { details: { errorClass: 'deadlock' } })
    case invalidCall: throw failed(what, -999, 'a parameter was invalid, or the call failed')
    default:
      // "0 or larger is success": https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql#return-code-values
      if (status > 0) return { status: 'granted' }
      throw failed(what, status, 'the documentation does not know this code')
  }
}

/** `doubt`: only the session's own mode for the lock can tell. */
export function releaseStatus({ status, error }: ProcedureAnswer): 'released' | 'not-held' | 'doubt' {
  if (error !== undefined) {
    if (serverNumbers(error).includes(notHeldNumber)) return 'not-held'
    throw error
  }
  return status === granted ? 'released' : 'doubt'
}

/** The driver's limit passed, or somebody cancelled: the attention was answered, the call may have been granted before it. */
export function isCancelled(error: unknown): boolean { return classifySqlServer(error) === 'query-timeout' }

function failed(what: string, status: number, why: string): SchedError {
  return new SchedError('SCHED_STATEMENT_FAILED', `${what}: sp_getapplock answered ${status}: ${why}.`, { details: { errorClass: 'unknown', returnCode: status } })
}
