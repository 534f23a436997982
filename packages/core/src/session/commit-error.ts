import { SchedError, asError } from '../errors.ts'
import type { ErrorClass } from '../spi/error-class.ts'
import { classifiedError, errorClassOf } from './classified-error.ts'

// What a server says at COMMIT when it certainly did not commit.
const rolledBack: ReadonlySet<ErrorClass> = new Set<ErrorClass>(['contended', 'deadlock', 'serialization', 'lock-timeout', 'read-only', 'duplicate-key'])

/** The error of a COMMIT that failed. Unless the server says that it rolled back, nobody knows: `details.commitUnknown`. */
export function commitError(errorClass: ErrorClass, what: string, thrown: unknown): SchedError {
  const error = classifiedError(errorClass, `${what}: COMMIT`, asError(thrown))
  if (rolledBack.has(errorClass)) return error
  return new SchedError('SCHED_SESSION_LOST', error.message, { cause: thrown, details: { errorClass: 'connection-lost', commitUnknown: true } })
}

/** True when nobody can say whether a block was committed. A session that was lost, or a deadline that passed, inside it counts too. */
export function commitUnknown(error: unknown): boolean {
  if (!(error instanceof SchedError)) return false
  return error.details['commitUnknown'] === true || error.code === 'SCHED_QUERY_TIMEOUT' || errorClassOf(error) === 'connection-lost'
}
