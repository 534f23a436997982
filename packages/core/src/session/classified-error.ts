import { SchedError, type ErrorCode } from '../errors.ts'
import type { ErrorClass } from '../spi/error-class.ts'

const codes: Record<ErrorClass, ErrorCode> = {
  contended: 'SCHED_CONTENDED',
  'duplicate-key': 'SCHED_DUPLICATE_KEY',
  deadlock: 'SCHED_DEADLOCK',
  serialization: 'SCHED_CONTENDED',
  'lock-timeout': 'SCHED_CONTENDED',
  'query-timeout': 'SCHED_QUERY_TIMEOUT',
  'connection-lost': 'SCHED_SESSION_LOST',
  authentication: 'SCHED_AUTHENTICATION',
  permission: 'SCHED_PERMISSION',
  'missing-table': 'SCHED_TABLE_MISSING',
  'already-exists': 'SCHED_STATEMENT_FAILED',
  'read-only': 'SCHED_READ_ONLY',
  'name-invalid': 'SCHED_LOCK_NAME_INVALID',
  'resource-exhausted': 'SCHED_RESOURCE_EXHAUSTED',
  unsupported: 'SCHED_STATEMENT_FAILED',
  unknown: 'SCHED_STATEMENT_FAILED',
}

const remedies: Partial<Record<ErrorClass, string>> = {
  authentication: 'Check user, password and database name in the URL or the pool.',
  permission: 'Grant the account what the statement needs; `sched migrate --print` shows the tables.',
  'missing-table': 'The tables of @sched are not there: let it migrate, or run what `sched migrate --print` prints.',
  'read-only': 'Connect to the primary: a replica or a read-only server cannot hold the ledger.',
  'resource-exhausted': 'The server is out of connections, lock memory or disk.',
  'connection-lost': 'It is tried again; look for a restart, an idle limit or a network fault.',
}

/** The driver's error as ours: code, remedy, the original as cause. */
export function classifiedError(errorClass: ErrorClass, what: string, cause: Error): SchedError {
  const remedy = remedies[errorClass]
  return new SchedError(codes[errorClass], `${what} failed: ${cause.message}.`, {
    cause, details: { errorClass }, ...(remedy === undefined ? {} : { remedy }),
  })
}

/** The class an error was given, when it came from a statement of ours. */
export function errorClassOf(error: unknown): ErrorClass | undefined {
  return error instanceof SchedError ? error.details['errorClass'] as ErrorClass | undefined : undefined
}
