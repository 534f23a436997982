/**
 * What a driver's error means. A dialect's `classify` is a table keyed on (vendor, code), each row with its source;
 * the core decides what follows from the class.
 *
 * - `contended`: somebody else has it right now (a busy writer, a row locked NOWAIT). Tried again within a bound.
 * - `duplicate-key`: a unique key refused the row. A result inside claims and acquires, never retried.
 * - `deadlock`, `serialization`: the server rolled the transaction back; the whole of it may be tried again.
 * - `lock-timeout`: the row-lock wait limit passed; the statement was rolled back.
 * - `query-timeout`: the statement limit passed or the statement was cancelled.
 * - `connection-lost`: this session is gone, or no session could be opened.
 * - `authentication`: the server answered and refused the credentials or the database name.
 * - `permission`, `missing-table`, `already-exists`, `read-only`: as they say.
 * - `name-invalid`: the lock name or key was refused by the server.
 * - `resource-exhausted`: out of connections, lock memory, disk.
 * - `unsupported`: the server does not know the function or the syntax.
 * - `unknown`: everything else. The session is destroyed.
 */
export type ErrorClass =
  | 'contended' | 'duplicate-key' | 'deadlock' | 'serialization' | 'lock-timeout' | 'query-timeout' | 'connection-lost'
  | 'authentication' | 'permission' | 'missing-table' | 'already-exists' | 'read-only' | 'name-invalid'
  | 'resource-exhausted' | 'unsupported' | 'unknown'

/** Classes after which the same session may go on (a transaction on it must be rolled back first). */
export const sessionSurvives: ReadonlySet<ErrorClass> = new Set<ErrorClass>([
  'contended', 'duplicate-key', 'deadlock', 'serialization', 'lock-timeout', 'permission', 'missing-table', 'already-exists',
  'read-only', 'name-invalid', 'resource-exhausted', 'unsupported',
])

/** Classes that a later identical try may not meet again: the core retries them within a bound, with jitter. */
export const transient: ReadonlySet<ErrorClass> = new Set<ErrorClass>(['contended', 'deadlock', 'serialization', 'lock-timeout'])
