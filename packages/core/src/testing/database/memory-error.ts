import { isSchedError } from '../../errors.ts'
import type { ErrorClass } from '../../spi/error-class.ts'

/** An error of the database in memory, as a driver would throw it. */
export class MemoryDatabaseError extends Error {
  override readonly name: string = 'MemoryDatabaseError'
  readonly errorClass: ErrorClass

  constructor(errorClass: ErrorClass, message: string) {
    super(message)
    this.errorClass = errorClass
  }
}

const constraintPrimaryKey = 1555
const constraintUnique = 2067
const genericError = 1

/** What an error of a session means: ours say so themselves, SQLite's by its extended code (https://www.sqlite.org/rescode.html). */
export function classifyMemory(error: unknown): ErrorClass {
  if (error instanceof MemoryDatabaseError) return error.errorClass
  if (isSchedError(error)) return (error.details['errorClass'] as ErrorClass | undefined) ?? 'unknown'
  if (!(error instanceof Error)) return 'unknown'
  const { errcode } = error as Error & { errcode?: unknown }
  if (errcode === constraintPrimaryKey || errcode === constraintUnique) return 'duplicate-key'
  if (errcode !== genericError) return 'unknown'
  // The generic code: the text says what it is.
  if (error.message.startsWith('no such table')) return 'missing-table'
  if (error.message.includes('already exists') || error.message.startsWith('there is already')) return 'already-exists'
  return error.message.startsWith('no such function') || error.message.endsWith('syntax error') ? 'unsupported' : 'unknown'
}
