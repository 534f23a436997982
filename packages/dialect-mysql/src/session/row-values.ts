import type { SqlResult, SqlRow, SqlValue } from '@sched/core/spi'
import type { MysqlColumn, MysqlField, MysqlHeader } from '../connect/mysql-client.ts'

// https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html: DECIMAL TINY SHORT LONG FLOAT DOUBLE, LONGLONG INT24, YEAR, NEWDECIMAL
const numberTypes: ReadonlySet<number> = new Set([0, 1, 2, 3, 4, 5, 8, 9, 13, 246])

// SERVER_STATUS_IN_TRANS: https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html#a1d854e841086925be1883e4d7b4e8cad
const statusInTransaction = 1

/** Every value as the bytes that the server sent: the pool's settings for numbers, dates and types change nothing. */
export function asBytes(field: MysqlField): Uint8Array | null { return field.buffer() }

/** The driver's answer as the core takes it. Text arrives as UTF-8, of VARBINARY too: that is what our keys are stored as. */
export function plainResult(result: unknown, columns: unknown): SqlResult {
  if (!Array.isArray(result)) return { rows: [], affected: (result as MysqlHeader).affectedRows }
  const fields = (columns as readonly MysqlColumn[]).map(({ name, columnType }) => ({ key: name.toLowerCase(), isNumber: numberTypes.has(columnType ?? -1) }))
  return { rows: (result as readonly (readonly (Uint8Array | null)[])[]).map((values) => plainRow(fields, values)), affected: 0 }
}

function plainRow(fields: readonly { readonly key: string; readonly isNumber: boolean }[], values: readonly (Uint8Array | null)[]): SqlRow {
  return Object.fromEntries(fields.map(({ key, isNumber }, index) => [key, plainValue(values[index] ?? null, isNumber)]))
}

function plainValue(bytes: Uint8Array | null, isNumber: boolean): SqlValue {
  if (bytes === null) return null
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  if (!isNumber) return text
  const number = Number(text)
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new RangeError(`the server sent the integer ${text}, which JavaScript cannot hold exactly`)
  }
  return number
}

/** Whether the session was inside a transaction when it gave this answer. Answers with rows do not tell. */
export function inTransaction(result: unknown): boolean {
  return (((result as MysqlHeader).serverStatus ?? 0) & statusInTransaction) !== 0
}
