import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { SchedError, type ErrorClass } from '@sched/core/spi'
import { classifySqlite, FileReplacedError } from '../src/sqlite/sqlite-errors.ts'
import { temporaryDirectory } from './support/sqlite-place.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())
let files = 0
const freshFile = (): string => { files += 1; return join(directory.path, `${files}.db`) }

/** A database with a table `t` (key `k`, unique `u`), and a second handle on it. */
function pair(): { one: DatabaseSync; two: DatabaseSync } {
  const file = freshFile()
  const [one, two] = [new DatabaseSync(file), new DatabaseSync(file)]
  one.exec('PRAGMA journal_mode = WAL')
  one.exec('CREATE TABLE t (k TEXT NOT NULL PRIMARY KEY, u INTEGER UNIQUE) STRICT')
  one.exec(`INSERT INTO t VALUES ('a', 1)`)
  return { one, two }
}

function errorOf(work: () => unknown): unknown {
  try { work() } catch (error) { return error }
  throw new Error('no error was thrown')
}

/** Each row raises the error for real. */
const raised: readonly (readonly [string, number | undefined, ErrorClass, () => unknown])[] = [
  ['a foreign writer', 5, 'contended', () => { const { one, two } = pair(); one.exec('BEGIN IMMEDIATE'); two.exec('BEGIN IMMEDIATE') }],
  ['a write on an old snapshot', 517, 'serialization', () => {
    const { one, two } = pair()
    two.exec('BEGIN')
    two.prepare('SELECT * FROM t').all()
    one.exec('UPDATE t SET u = 2')
    two.exec('UPDATE t SET u = 3')
  }],
  ['a table in use on the same handle', 6, 'contended', () => { const { one } = pair(); const rows = one.prepare('SELECT * FROM t').iterate(); rows.next(); one.exec('DROP TABLE t') }],
  ['a read-only handle', 8, 'read-only', () => { const file = freshFile(); new DatabaseSync(file).exec('CREATE TABLE t (a)'); new DatabaseSync(file, { readOnly: true }).exec('DROP TABLE t') }],
  ['a broken page', 11, 'unknown', () => {
    const file = freshFile()
    const database = new DatabaseSync(file)
    database.exec('CREATE TABLE t (a)')
    database.close()
    const descriptor = openSync(file, 'r+')
    writeSync(descriptor, 'no b-tree page', 4096) // the second page
    closeSync(descriptor)
    new DatabaseSync(file).prepare('SELECT * FROM t').all()
  }],
  ['a full disk', 13, 'resource-exhausted', () => { const { one } = pair(); one.exec('PRAGMA max_page_count = 4'); one.prepare('INSERT INTO t VALUES (?, 2)').run('x'.repeat(100_000)) }],
  ['no directory', 14, 'connection-lost', () => new DatabaseSync(join(directory.path, 'none', 'x.db'))],
  ['a file that is no database', 26, 'unknown', () => { const file = freshFile(); writeFileSync(file, 'something else\n'.repeat(100)); new DatabaseSync(file).exec('SELECT * FROM t') }],
  ['a taken primary key', 1555, 'duplicate-key', () => pair().one.exec(`INSERT INTO t VALUES ('a', 2)`)],
  ['a taken unique value', 2067, 'duplicate-key', () => pair().one.exec(`INSERT INTO t VALUES ('b', 1)`)],
  ['a missing NOT NULL value', 1299, 'unknown', () => pair().one.exec('INSERT INTO t VALUES (NULL, 2)')],
  ['no table', 1, 'missing-table', () => pair().one.prepare('SELECT * FROM absent')],
  ['a table that was dropped by another handle', 1, 'missing-table', () => { const { one, two } = pair(); const rows = one.prepare('SELECT * FROM t'); two.exec('DROP TABLE t'); rows.all() }],
  ['a table that exists', 1, 'already-exists', () => pair().one.exec('CREATE TABLE t (a)')],
  ['an index that exists', 1, 'already-exists', () => { const { one } = pair(); one.exec('CREATE INDEX i ON t (u)'); one.exec('CREATE INDEX i ON t (u)') }],
  ['a table named as an index', 1, 'already-exists', () => { const { one } = pair(); one.exec('CREATE INDEX i ON t (u)'); one.exec('CREATE TABLE i (a)') }],
  ['no function', 1, 'unsupported', () => pair().one.prepare('SELECT absent(1)')],
  ['a syntax error', 1, 'unsupported', () => pair().one.prepare('SELEC 1')],
  ['another error of SQL', 1, 'unknown', () => pair().one.prepare('SELECT absent FROM t')],
  ['a closed handle', undefined, 'connection-lost', () => { const { one } = pair(); one.close(); one.exec('SELECT 1') }],
  ['a statement of a closed handle', undefined, 'connection-lost', () => { const { one } = pair(); const rows = one.prepare('SELECT 1'); one.close(); rows.all() }],
]

describe('P10: what node:sqlite reports has a class', () => {
  it.each(raised)('%s (code %s) is %s', (_what, errcode, errorClass, work) => {
    const error = errorOf(work)
    expect((error as { errcode?: number }).errcode).toBe(errcode)
    expect(classifySqlite(error)).toBe(errorClass)
  })

  // Cannot be raised at will.
  it.each<[number, string, ErrorClass]>([
    [261, 'SQLITE_BUSY_RECOVERY', 'contended'], [773, 'SQLITE_BUSY_TIMEOUT', 'contended'], [262, 'SQLITE_LOCKED_SHAREDCACHE', 'contended'],
    [15, 'SQLITE_PROTOCOL', 'contended'], [17, 'SQLITE_SCHEMA', 'serialization'], [10, 'SQLITE_IOERR', 'connection-lost'],
    [1546, 'SQLITE_IOERR_TRUNCATE', 'connection-lost'], [3082, 'SQLITE_IOERR_NOMEM', 'resource-exhausted'], [7, 'SQLITE_NOMEM', 'resource-exhausted'],
    [520, 'SQLITE_READONLY_CANTLOCK', 'read-only'], [1032, 'SQLITE_READONLY_DBMOVED', 'connection-lost'], [267, 'SQLITE_CORRUPT_VTAB', 'unknown'],
    [3, 'SQLITE_PERM', 'permission'], [23, 'SQLITE_AUTH', 'permission'], [9, 'SQLITE_INTERRUPT', 'query-timeout'], [2579, 'SQLITE_CONSTRAINT_ROWID', 'duplicate-key'],
    [21, 'SQLITE_MISUSE', 'unknown'],
  ])('code %d, %s, is %s', (errcode, _name, errorClass) => {
    expect(classifySqlite(Object.assign(new Error('as it comes'), { code: 'ERR_SQLITE_ERROR', errcode }))).toBe(errorClass)
  })

  it('knows its own errors, and no others', () => {
    expect(classifySqlite(new FileReplacedError('x.db'))).toBe('connection-lost')
    expect(classifySqlite(new SchedError('SCHED_READ_ONLY', 'x.', { details: { errorClass: 'read-only' } }))).toBe('read-only')
    expect(classifySqlite(new SchedError('SCHED_OPTION_INVALID', 'x.'))).toBe('unknown')
    expect(classifySqlite(new AggregateError([new FileReplacedError('x.db')]))).toBe('unknown')
    expect(classifySqlite(new Error('no such table: x'))).toBe('unknown')
    expect(classifySqlite('no such table: x')).toBe('unknown')
    expect(classifySqlite(undefined)).toBe('unknown')
  })
})
