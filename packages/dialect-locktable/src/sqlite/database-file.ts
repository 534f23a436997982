import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { SchedError, type ErrorClass } from '@sched/core/spi'

/**
 * Checks the option `file` and makes it absolute, so that every handle opens the same file whatever the working directory becomes.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function databaseFile(file: unknown): string {
  if (typeof file !== 'string' || file === '' || file.includes('\0')) {
    throw new SchedError('SCHED_OPTION_INVALID', `the SQLite file ${JSON.stringify(file) ?? String(file)} is not valid: expected the path of a file.`)
  }
  if (file === ':memory:' || /^file:.*(:memory:|mode=memory)/.test(file)) {
    throw new SchedError('SCHED_OPTION_INVALID', 'an SQLite database in memory belongs to one connection: no second instance, and no second connection of this one, would see it.',
      { remedy: 'Name a file, for tests one in a temporary directory.' })
  }
  if (file.startsWith('file:')) {
    throw new SchedError('SCHED_OPTION_INVALID', `the SQLite file ${JSON.stringify(file)} is a URI: expected the path of a file.`)
  }
  return resolve(file)
}

/**
 * Says in words what SQLite reports as "unable to open database file" or only at the first write.
 * @throws SchedError SCHED_DATABASE_UNREACHABLE, SCHED_PERMISSION, SCHED_READ_ONLY
 */
export function checkAccess(file: string): void {
  const directory = dirname(file)
  const folder = statSync(directory, { throwIfNoEntry: false })
  if (folder === undefined) throw unusable('SCHED_DATABASE_UNREACHABLE', 'connection-lost', `the SQLite file ${file} cannot be opened: the directory ${directory} does not exist.`, 'Create the directory.')
  if (!folder.isDirectory()) throw unusable('SCHED_DATABASE_UNREACHABLE', 'connection-lost', `the SQLite file ${file} cannot be opened: ${directory} is not a directory.`, 'Name a file in a directory.')
  if (existsSync(file)) {
    if (!statSync(file).isFile()) throw unusable('SCHED_DATABASE_UNREACHABLE', 'connection-lost', `the SQLite file ${file} cannot be opened: it is not a file.`, 'Name a file.')
    if (!accessible(file, constants.R_OK)) throw unusable('SCHED_PERMISSION', 'permission', `the SQLite file ${file} may not be read by this account.`, 'Give the account read and write access.')
    if (!accessible(file, constants.W_OK)) throw unusable('SCHED_READ_ONLY', 'read-only', `the SQLite file ${file} may not be written by this account.`, 'Give the account write access.')
  }
  // The write-ahead log is a file beside it.
  if (!accessible(directory, constants.W_OK | constants.X_OK)) throw unusable('SCHED_PERMISSION', 'permission', `the directory ${directory} of the SQLite file may not be written by this account.`, 'Give the account write access to the directory: SQLite keeps its log beside the file.')
}

function unusable(code: 'SCHED_DATABASE_UNREACHABLE' | 'SCHED_PERMISSION' | 'SCHED_READ_ONLY', errorClass: ErrorClass, message: string, remedy: string): SchedError {
  return new SchedError(code, message, { remedy, retryable: false, details: { errorClass } })
}

function accessible(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}
