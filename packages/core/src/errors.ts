/**
 * Every error this library throws on purpose. The code is the contract (semver); the message is for people.
 * `retryable` says whether the same call may succeed later without anybody changing anything.
 */
const codes = {
  // what the caller wrote
  SCHED_OPTION_INVALID: false,
  SCHED_NAMESPACE_INVALID: false,
  SCHED_LOCK_NAME_INVALID: false,
  SCHED_TASK_NAME_INVALID: false,
  SCHED_TASK_DUPLICATE: false,
  SCHED_TASK_UNKNOWN: false,
  SCHED_CRON_SYNTAX: false,
  SCHED_CRON_NEVER: false,
  SCHED_TIME_ZONE_UNKNOWN: false,
  // dialects
  SCHED_DIALECT_UNKNOWN: false,
  SCHED_DIALECT_NOT_INSTALLED: false,
  SCHED_DIALECT_INVALID: false,
  SCHED_CAPABILITY_MISSING: false,
  // set-ups that are refused (P11)
  SCHED_UNSAFE_POOLER: false,
  SCHED_UNSAFE_READ_ONLY: false,
  SCHED_UNSAFE_CLUSTER: false,
  SCHED_UNSAFE_ENGINE: false,
  SCHED_UNSUPPORTED_VERSION: false,
  SCHED_UNSAFE_LIMIT: false,
  // a set-up that is told
  SCHED_ZONE_DATA_DIFFERS: false,
  // the database
  SCHED_DATABASE_UNREACHABLE: true,
  SCHED_AUTHENTICATION: false,
  SCHED_PERMISSION: false,
  SCHED_READ_ONLY: true,
  SCHED_TABLE_MISSING: false,
  SCHED_SCHEMA_MISSING: false,
  SCHED_SCHEMA_TOO_NEW: false,
  SCHED_MIGRATION_BUSY: true,
  SCHED_RESOURCE_EXHAUSTED: true,
  SCHED_SESSION_LOST: true,
  SCHED_QUERY_TIMEOUT: true,
  SCHED_CONTENDED: true,
  SCHED_DEADLOCK: true,
  SCHED_DUPLICATE_KEY: false,
  SCHED_STATEMENT_FAILED: false,
  // locks
  SCHED_LOCK_TIMEOUT: true,
  SCHED_LOCK_LOST: true,
  SCHED_LOCK_LIMIT: true,
  SCHED_LOCK_DEADLOCK: true,
  // executions
  SCHED_LEASE_LOST: true,
  SCHED_FENCED: false,
  SCHED_TASK_TIMEOUT: true,
  SCHED_TASK_FAILED: true,
  SCHED_TASK_CANCELLED: false,
  SCHED_TASK_INTERRUPTED: true,
  SCHED_TASK_POISON: false,
  SCHED_TASK_RETIRED: false,
  SCHED_WORKERS_BUSY: true,
  SCHED_TRANSACTION_TOO_LONG: true,
  SCHED_TRANSACTION_REPEATED: false,
  // life
  SCHED_ABORTED: false,
  SCHED_STOPPED: false,
} as const

export type ErrorCode = keyof typeof codes

/** Every code, for documentation and tests. */
export const errorCodes: readonly ErrorCode[] = Object.keys(codes) as ErrorCode[]

const brand = Symbol.for('@sched/error')

export interface SchedErrorOptions {
  cause?: unknown
  /** What to do about it, as a sentence. Appended to the message. */
  remedy?: string
  /** Overrides the default of the code. */
  retryable?: boolean
  /** Facts for programs: lock name, owner, vendor code. Never credentials. */
  details?: Readonly<Record<string, unknown>>
}

export class SchedError extends Error {
  override readonly name: string = 'SchedError'
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly remedy: string | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: SchedErrorOptions = {}) {
    const text = options.remedy === undefined ? message : `${message} ${options.remedy}`
    super(`${code}: ${text}`, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.retryable = options.retryable ?? codes[code]
    this.remedy = options.remedy
    this.details = options.details ?? {}
    Object.defineProperty(this, brand, { value: true })
  }
}

/** True for errors of this library, also those of another copy of it in the same process. */
export function isSchedError(error: unknown, code?: ErrorCode): error is SchedError {
  if (typeof error !== 'object' || error === null || !(brand in error)) return false
  return code === undefined || (error as unknown as SchedError).code === code
}

/** Anything thrown, as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`a value that is no Error was thrown: ${String(thrown)}`, { cause: thrown })
}
