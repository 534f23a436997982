import { isSchedError, type ErrorClass } from '@sched/core/spi'

// Extended result codes, https://www.sqlite.org/rescode.html; [tried] = raised by node:sqlite (SQLite 3.54, Node 24) in our tests.
// A code that is not listed is looked up by its low byte, the primary code.
const byCode: ReadonlyMap<number, ErrorClass> = new Map<number, ErrorClass>([
  [3, 'permission'], // SQLITE_PERM
  [5, 'contended'], // SQLITE_BUSY [tried]: another connection writes; BEGIN IMMEDIATE lost
  [261, 'contended'], // SQLITE_BUSY_RECOVERY: another process rebuilds the WAL index after a crash
  [517, 'serialization'], // SQLITE_BUSY_SNAPSHOT [tried]: a read transaction wants to write on an old snapshot; waiting does not help
  [773, 'contended'], // SQLITE_BUSY_TIMEOUT
  [6, 'contended'], // SQLITE_LOCKED: a conflict inside this connection or its shared cache
  [7, 'resource-exhausted'], // SQLITE_NOMEM
  [8, 'read-only'], // SQLITE_READONLY [tried]
  [1032, 'connection-lost'], // SQLITE_READONLY_DBMOVED: the file was moved or replaced; a new handle opens what is there now
  [9, 'query-timeout'], // SQLITE_INTERRUPT
  [10, 'connection-lost'], // SQLITE_IOERR: the handle is not to be trusted any more
  [3082, 'resource-exhausted'], // SQLITE_IOERR_NOMEM
  [11, 'unknown'], // SQLITE_CORRUPT
  [13, 'resource-exhausted'], // SQLITE_FULL
  [14, 'connection-lost'], // SQLITE_CANTOPEN [tried]: no directory, a directory, no access
  [15, 'contended'], // SQLITE_PROTOCOL: gave up a race for the WAL's read locks
  [17, 'serialization'], // SQLITE_SCHEMA: the schema kept changing under the statement
  [1555, 'duplicate-key'], // SQLITE_CONSTRAINT_PRIMARYKEY [tried]
  [2067, 'duplicate-key'], // SQLITE_CONSTRAINT_UNIQUE [tried]
  [2579, 'duplicate-key'], // SQLITE_CONSTRAINT_ROWID
  [23, 'permission'], // SQLITE_AUTH
  [26, 'unknown'], // SQLITE_NOTADB [tried]: the file is something else
])

// SQLITE_ERROR has no codes of its own: the text says what it is (all [tried]; the texts are SQLite's, never translated).
const byMessage: readonly (readonly [RegExp, ErrorClass])[] = [
  [/^no such table: /, 'missing-table'],
  [/^(table|index|view|trigger) \S+ already exists$/, 'already-exists'],
  [/^there is already an? (table|index|view) named /, 'already-exists'],
  [/^no such function: /, 'unsupported'],
  [/syntax error$/, 'unsupported'],
]

/** Class `connection-lost`: a new handle opens what is there now. */
export class FileReplacedError extends Error {
  override readonly name: string = 'FileReplacedError'
  constructor(file: string) { super(`the database file ${file} was deleted or replaced while it was open`) }
}

/** What an error of node:sqlite, or of this dialect, means. */
export function classifySqlite(error: unknown): ErrorClass {
  if (isSchedError(error)) return (error.details['errorClass'] as ErrorClass | undefined) ?? 'unknown'
  if (error instanceof FileReplacedError) return 'connection-lost'
  if (!(error instanceof Error)) return 'unknown'
  const { code, errcode } = error as Error & { code?: unknown; errcode?: unknown }
  // A closed DatabaseSync, or a statement of one [tried]. Node's own state error, without a number.
  if (code === 'ERR_INVALID_STATE') return 'connection-lost'
  if (code !== 'ERR_SQLITE_ERROR' || typeof errcode !== 'number') return 'unknown'
  if (errcode === 1) return byMessage.find(([pattern]) => pattern.test(error.message))?.[1] ?? 'unknown'
  return byCode.get(errcode) ?? byCode.get(errcode & 0xff) ?? 'unknown'
}
