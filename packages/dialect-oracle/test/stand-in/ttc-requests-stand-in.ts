import { NotModelledError, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import type { TtcReader } from './ttc-buffer-stand-in.ts'

// Requests as oracledb 26.0.0 writes them for the field version of 11.2: lib/thin/protocol/messages/*.js.

export const messageType = { protocol: 1, dataTypes: 2, call: 3, error: 4, rowHeader: 6, row: 7, parameter: 8, status: 9, ioVector: 11, lobData: 14, describe: 16, piggyback: 17 } as const
export const callCode = {
  reexecute: 4, fetch: 5, logoff: 9, commit: 14, rollback: 15, reexecuteAndFetch: 78, execute: 94, lob: 96, closeCursors: 105, authTwo: 115, authOne: 118, ping: 147,
} as const
export const dataType = { varchar: 1, number: 2, integer: 3, long: 8, char: 96, clob: 112 } as const

const option = { parse: 0x01, bind: 0x08, define: 0x10, execute: 0x20, fetch: 0x40, commit: 0x100 } as const

/** MAX_STRING_SIZE = STANDARD. */
const longestVarchar = 4_000

export interface BindStandIn { readonly type: number; readonly maxSize: number }

export interface ExecuteRequest {
  readonly cursorId: number
  /** Undefined: the cursor's. */
  readonly sql: string | undefined
  readonly binds: readonly BindStandIn[]
  readonly execute: boolean
  readonly define: boolean
  readonly commit: boolean
  /** Rows to be sent at once; 0 for none. */
  readonly fetchRows: number
}

/** OALL8, up to the row of values. */
export function readExecute(reader: TtcReader): ExecuteRequest {
  const options = reader.integer()
  const cursorId = reader.integer()
  const hasText = reader.byte() === 1
  reader.integer() // length of the text
  reader.byte()
  const vector = reader.integer()
  reader.skip(3)
  const iterations = reader.integer()
  reader.integer() // longest LONG
  reader.byte()
  const bindCount = reader.integer()
  reader.skip(5)
  reader.byte()
  const defineCount = reader.integer()
  reader.integer()
  reader.skip(3)
  reader.integer()
  reader.byte()
  reader.skipIntegers(2)
  reader.byte()
  reader.integer()
  reader.byte()
  const sql = hasText ? reader.text()?.toString('utf8') : undefined
  reader.skipIntegers(vector)
  const described = Array.from({ length: (options & option.define) === 0 ? bindCount : defineCount }, () => readBind(reader))
  return {
    cursorId, sql,
    binds: (options & option.define) === 0 ? described : [],
    execute: (options & option.execute) !== 0, define: (options & option.define) !== 0, commit: (options & option.commit) !== 0,
    fetchRows: (options & option.fetch) === 0 ? 0 : iterations,
  }
}

function readBind(reader: TtcReader): BindStandIn {
  const type = reader.byte()
  reader.skip(3)
  const maxSize = reader.integer()
  reader.skipIntegers(2)
  if (reader.integer() !== 0) throw new NotModelledError('a bind of an object type')
  reader.skipIntegers(2)
  reader.byte()
  reader.integer()
  return { type, maxSize }
}

/** One value of a row of binds; a temporary CLOB comes as its locator. */
export function readValue(reader: TtcReader, { type }: BindStandIn, clobOf: (locator: string) => string): string | number | null {
  if (type === dataType.number || type === dataType.integer) return reader.number()
  if (type === dataType.varchar || type === dataType.char || type === dataType.long) {
    const bytes = reader.text()
    // https://docs.oracle.com/en/error-help/db/ora-01461/
    if (bytes !== null && bytes.length > longestVarchar) throw new OracleErrorStandIn(1461, 'can bind a LONG value only for insert into a LONG column')
    return bytes?.toString('utf8') ?? null
  }
  if (type === dataType.clob) {
    if (reader.integer() === 0) return null
    return clobOf(reader.text()?.toString('hex') ?? '')
  }
  throw new NotModelledError(`a bind of type ${type}`)
}

/** Keys and values of a logon. */
export function readPairs(reader: TtcReader, count: number): Map<string, string> {
  const pairs = new Map<string, string>()
  for (let index = 0; index < count; index += 1) {
    reader.integer()
    const key = reader.text()?.toString('utf8') ?? ''
    pairs.set(key, reader.integer() > 0 ? reader.text()?.toString('utf8') ?? '' : '')
    reader.integer()
  }
  return pairs
}

/** Names of binds in the order of the server: each once in a block, each time in SQL. */
export function bindNames(sql: string): readonly string[] {
  const names = [...sql.replaceAll(/'(?:[^']|'')*'/g, (literal) => ' '.repeat(literal.length)).matchAll(/:(\w+)/g)].map(([, name]) => name ?? '')
  return isBlock(sql) ? [...new Set(names)] : names
}

export function isBlock(sql: string): boolean { return /^\s*(BEGIN|DECLARE)\b/i.test(sql) }

/** Binds that a block assigns. */
export function assignedBinds(sql: string): ReadonlySet<string> {
  return new Set([...sql.matchAll(/:(\w+) :=|\bINTO :(\w+)/g)].map(([, left, into]) => left ?? into ?? ''))
}
