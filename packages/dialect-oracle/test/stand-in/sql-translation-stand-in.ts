import { nowMs } from '../../src/store/fragments.ts'

/** An Oracle statement of ours as SQLite takes it. What has no translation fails in SQLite, and so in the test. */
export interface TranslatedStandIn {
  readonly kind: 'query' | 'lock' | 'insert' | 'update' | 'ddl'
  readonly text: string
  /** The names of the binds, in the order of their `?`. */
  readonly names: readonly string[]
  /** For `lock` and `update`: the table and the condition of the rows. */
  readonly table: string | undefined
  /** Of FOR UPDATE: seconds, or undefined for ever. */
  readonly waitSeconds: number | undefined
}

/** The server's clock, as a function of the database. */
export const clockFunction = 'stand_in_now_ms'

export function translateStandIn(oracleText: string): TranslatedStandIn {
  const names: string[] = []
  const lock = / FOR UPDATE(?: (NOWAIT)| WAIT (\d+))?$/.exec(oracleText)
  const text = (lock === null ? oracleText : oracleText.slice(0, lock.index))
    .replaceAll(nowMs, `${clockFunction}()`)
    .replaceAll(/ FETCH FIRST (\d+) ROWS ONLY\b/g, ' LIMIT $1')
    .replaceAll(/\blimit AS\b/g, '"limit" AS') // a keyword in SQLite
    .replaceAll(/\bserial#/g, 'serial_number') // not a name in SQLite
    .replaceAll(/VARCHAR2\((\d+) CHAR\)/g, 'VARCHAR2($1)')
    .replaceAll(/\bDBTIMEZONE\b/g, "'+00:00'") // the driver asks for it after the logon
    .replaceAll(/('(?:[^']|'')*')|:(\w+)/g, (_whole, literal: string | undefined, name: string | undefined) => {
      if (literal !== undefined) return literal
      names.push(name ?? '')
      return '?'
    })
  const waitSeconds = lock === null ? undefined : lock[1] === undefined ? (lock[2] === undefined ? undefined : Number(lock[2])) : 0
  const kind = lock !== null ? 'lock' : kindOf(text)
  const table = /^(?:UPDATE|DELETE FROM|INSERT INTO|SELECT [\s\S]*? FROM) ("[^"]+"|\w+)/.exec(text)?.[1]
  return { kind, text, names, table, waitSeconds }
}

function kindOf(text: string): TranslatedStandIn['kind'] {
  if (/^\s*SELECT\b/.test(text)) return 'query'
  if (/^INSERT\b/.test(text)) return 'insert'
  if (/^(UPDATE|DELETE)\b/.test(text)) return 'update'
  return 'ddl'
}
