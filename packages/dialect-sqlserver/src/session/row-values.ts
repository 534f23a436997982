import type { SqlRow, SqlValue } from '@sched/core/spi'
import type { TediousCell, TediousColumns } from '../connect/tedious-types.ts'
import { unmarkEnd } from './kept-spaces.ts'

/** tedious gives bigint as text: it may be larger than a number can hold. IntN is any integer that may be NULL. */
const integerTypes: ReadonlySet<string> = new Set(['BigInt', 'IntN'])

/** The driver's row as the core takes it. */
export function plainRow(columns: TediousColumns<TediousCell>): SqlRow {
  return Object.fromEntries(Object.values(columns).map(({ metadata, value }) => [metadata.colName.toLowerCase(), plainValue(metadata, value)]))
}

function plainValue({ colName, type }: TediousCell['metadata'], value: unknown): SqlValue {
  if (value === null || value === undefined) return null
  if (typeof value === 'bigint' || (typeof value === 'string' && integerTypes.has(type.name))) return safeInteger(value)
  if (typeof value === 'string') return unmarkEnd(value)
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  throw new TypeError(`the column ${colName} holds neither text nor number but ${type.name}`)
}

function safeInteger(value: string | bigint): number {
  const number = Number(value)
  if (Number.isSafeInteger(number)) return number
  throw new RangeError(`the server sent the integer ${value}, which JavaScript cannot hold exactly`)
}
