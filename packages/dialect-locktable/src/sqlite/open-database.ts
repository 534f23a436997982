import type { DatabaseSync } from 'node:sqlite'
import { SchedError } from '@sched/core/spi'
import { checkAccess } from './database-file.ts'

/** How long a statement may wait for a foreign writer. It blocks the event loop, so waiting longer is the core's, between tries. */
export const busyTimeoutMs = 5

/** @throws SchedError when the file or its directory cannot be used; else what node:sqlite throws */
export function openDatabase(file: string): DatabaseSync {
  checkAccess(file)
  const database = new (sqliteModule().DatabaseSync)(file)
  try {
    setUp(database, file)
  } catch (error) {
    database.close()
    throw namingFile(error, file)
  }
  return database
}

const notADatabase = 26

/** SQLite says "file is not a database" without saying which. */
export function namingFile(error: unknown, file: string): unknown {
  if ((error as { errcode?: unknown }).errcode !== notADatabase) return error
  return new SchedError('SCHED_DATABASE_UNREACHABLE', `${file} is not an SQLite database.`, {
    remedy: 'Name another file, or restore it from a backup.', retryable: false, cause: error, details: { errorClass: 'unknown' },
  })
}

function setUp(database: DatabaseSync, file: string): void {
  database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`) // node:sqlite's default is 0, and the setting is the handle's
  // WAL: readers and a writer do not stop each other. Persistent in the file; a no-op when it is so already.
  const mode = database.prepare('PRAGMA journal_mode = WAL').get()?.['journal_mode']
  if (mode !== 'wal') {
    throw new SchedError('SCHED_UNSAFE_ENGINE', `SQLite cannot use a write-ahead log for ${file}: its journal mode stays "${String(mode)}".`,
      { remedy: 'Put the file on a local disk.', details: { errorClass: 'unsupported' } })
  }
  // With NORMAL a power failure may take back what was committed (https://www.sqlite.org/pragma.html#pragma_synchronous), and with it P1.
  database.exec('PRAGMA synchronous = FULL')
}

/**
 * Loaded when first used, so that a lock table on another database prints no ExperimentalWarning on Node 22.
 * @throws SchedError SCHED_DIALECT_NOT_INSTALLED
 */
export function sqliteModule(): typeof import('node:sqlite') {
  const loaded = process.getBuiltinModule('node:sqlite') as typeof import('node:sqlite') | undefined
  if (loaded === undefined) {
    throw new SchedError('SCHED_DIALECT_NOT_INSTALLED', `this Node (${process.version}) has no node:sqlite.`, { remedy: 'Use Node 22.13 or newer, built with SQLite.' })
  }
  return loaded
}
