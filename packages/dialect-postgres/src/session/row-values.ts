import type { SqlResult, SqlRow, SqlValue } from '@sched/core/spi'
import type { PgArrayResult, PgTypes } from '../connect/pg-client.ts'

// Numbers of the built-in types, fixed for ever: https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat
const numberTypes: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700]) // int8 int2 int4 oid float4 float8 numeric
const booleanType = 16

const parseText = (value: string): string => value
const parseBoolean = (value: string): number => (value === 't' ? 1 : 0)

function parseNumber(value: string): number {
  const number = Number(value)
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) {
    throw new RangeError(`the server sent the integer ${value}, which JavaScript cannot hold exactly`)
  }
  return number
}

/**
 * Numbers as numbers (`pg` itself gives int8 and numeric as strings), booleans as 1 and 0, everything else as the server wrote it.
 * Given with each statement, so that neither the user's parsers for the process change our answers nor we theirs.
 */
export const plainTypes: PgTypes = {
  getTypeParser(oid) {
    if (numberTypes.has(oid)) return parseNumber
    return oid === booleanType ? parseBoolean : parseText
  },
}

/** The driver's answer as the core takes it. Of several statements sent at once the last one counts. */
export function plainResult(answer: unknown): SqlResult {
  const result = lastResult(answer)
  const keys = result.fields.map(({ name }) => name.toLowerCase())
  return { rows: result.rows.map((values) => plainRow(keys, values)), affected: result.command === 'SELECT' ? 0 : result.rowCount ?? 0 }
}

/** What the server says it did: `INSERT`, `COMMIT`, or `ROLLBACK` for the COMMIT of a failed transaction. */
export function commandTag(answer: unknown): string {
  return lastResult(answer).command
}

function lastResult(answer: unknown): PgArrayResult {
  return (Array.isArray(answer) ? answer.at(-1) : answer) as PgArrayResult
}

function plainRow(keys: readonly string[], values: readonly unknown[]): SqlRow {
  return Object.fromEntries(keys.map((key, index) => [key, values[index] as SqlValue]))
}
