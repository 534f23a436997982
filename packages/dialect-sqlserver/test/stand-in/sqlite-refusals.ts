import { StatementRefused } from './sql-translation.ts'

/** Somebody else is writing. */
export class Busy extends Error {}

const busyCodes: ReadonlySet<number> = new Set([5, 261, 517, 6])

/** SQLite's error under SQL Server's number. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { errcode } = error as { errcode?: number }
  if (errcode === undefined) return error
  if (busyCodes.has(errcode)) return new Busy()
  const refused = (number: number, severity: number, message: string): StatementRefused => new StatementRefused({ number, severity, message })
  const [, missing] = /^no such table: (?:\w+\.)?(\S+)/.exec(error.message) ?? []
  if (missing !== undefined) return refused(208, 16, `Invalid object name '${missing}'.`)
  if (errcode === 1555) return refused(2627, 14, `Violation of PRIMARY KEY constraint. Cannot insert duplicate key. [stand-in] ${error.message}`)
  if (errcode === 2067) return refused(2627, 14, `Violation of UNIQUE KEY constraint. Cannot insert duplicate key. [stand-in] ${error.message}`)
  if (errcode === 1299) return refused(515, 16, `Cannot insert the value NULL. [stand-in] ${error.message}`)
  if (errcode === 275) return refused(2628, 16, `String or binary data would be truncated. [stand-in] ${error.message}`)
  if (/^no such function/.test(error.message)) return refused(195, 15, `${error.message.split(': ')[1] ?? ''} is not a recognized built-in function name.`)
  if (/^no such column/.test(error.message)) return refused(207, 16, `Invalid column name. [stand-in] ${error.message}`)
  if (/divide/.test(error.message)) return refused(8134, 16, 'Divide by zero error encountered.')
  return refused(102, 15, `Incorrect syntax. [stand-in] ${error.message}`)
}
