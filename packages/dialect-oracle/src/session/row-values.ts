import type { SqlResult, SqlRow, SqlValue } from '@sched/core/spi'
import type { OracleDriver } from '../connect/driver.ts'
import type { OracleBind, OracleColumn, OracleExecuteOptions, OracleResult } from '../connect/oracle-client.ts'

// A bound VARCHAR2 may have 4,000 bytes in SQL (MAX_STRING_SIZE = STANDARD); longer text goes as a CLOB, which fits everywhere a
// statement of ours has one. https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/Data-Types.html
const longestVarchar = 4_000

/** A value as the driver binds it. */
export function boundValue(value: SqlValue, driver: OracleDriver): OracleBind | SqlValue {
  if (typeof value !== 'string' || Buffer.byteLength(value) <= longestVarchar) return value
  return { type: driver.CLOB, val: value }
}

/**
 * Numbers come as text and are read exactly (the driver itself would round what JavaScript cannot hold), CLOBs as text instead of
 * streams. Given with each statement, so that neither the user's `fetchAsString` changes our answers nor we theirs.
 * https://node-oracledb.readthedocs.io/en/latest/user_guide/sql_execution.html#using-fetch-type-handlers
 */
export function plainOptions(driver: OracleDriver, autoCommit: boolean): OracleExecuteOptions {
  return {
    autoCommit,
    outFormat: driver.OUT_FORMAT_ARRAY,
    fetchTypeHandler(column: OracleColumn) {
      if (column.dbTypeName === 'NUMBER') return { type: driver.STRING, converter: exactNumber }
      return column.dbTypeName === 'CLOB' || column.dbTypeName === 'NCLOB' ? { type: driver.STRING } : undefined
    },
  }
}

function exactNumber(value: unknown): number | null {
  if (value === null || value === undefined) return null
  const number = Number(value)
  if (Number.isNaN(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) {
    throw new RangeError(`the server sent the number ${value as string}, which JavaScript cannot hold exactly`)
  }
  return number
}

/** The driver's answer as the core takes it. */
export function plainResult({ rows = [], metaData = [], rowsAffected = 0 }: OracleResult): SqlResult {
  const keys = metaData.map(({ name }) => name.toLowerCase())
  return { rows: rows.map((values) => plainRow(keys, values)), affected: rowsAffected }
}

function plainRow(keys: readonly string[], values: readonly unknown[]): SqlRow {
  return Object.fromEntries(keys.map((key, index) => {
    const value = values[index] ?? null
    if (value !== null && typeof value !== 'string' && typeof value !== 'number') throw new TypeError(`the column ${key} holds neither text nor number`)
    return [key, value]
  }))
}
