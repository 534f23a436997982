import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { SqlResult, SqlRow, SqlValue, Statement } from '@sched/core/spi'

// The core has some thirty texts; those with a variable number of marks must not pile up.
const mostStatements = 100

interface Prepared {
  readonly statement: StatementSync
  readonly marks: number
  readonly kind: 'rows' | 'changed-rows' | 'changes' | 'other'
}

/** The prepared statements of one handle, the least recently used dropped first. SQLite prepares again by itself when the schema changes. */
export class StatementCache {
  readonly #database: DatabaseSync
  readonly #prepared = new Map<string, Prepared>()

  constructor(database: DatabaseSync) { this.#database = database }

  run({ text, params }: Statement): SqlResult {
    const { statement, marks, kind } = this.#prepare(text)
    // node:sqlite would bind NULL, or what the last run left, to a mark without a value.
    if (params.length !== marks) throw new TypeError(`a statement with ${marks} marks was given ${params.length} values: ${text}`)
    const values = params.map(bound)
    if (kind === 'changes' || kind === 'other') {
      const { changes } = statement.run(...values)
      return { rows: [], affected: kind === 'changes' ? Number(changes) : 0 } // DDL leaves the count of the statement before
    }
    const rows = statement.all(...values).map(toRow)
    return { rows, affected: kind === 'changed-rows' ? rows.length : 0 }
  }

  #prepare(text: string): Prepared {
    const known = this.#prepared.get(text)
    if (known !== undefined) {
      this.#prepared.delete(text)
      this.#prepared.set(text, known)
      return known
    }
    const prepared = { statement: this.#database.prepare(text), marks: text.split('?').length - 1, kind: kindOf(text) }
    this.#prepared.set(text, prepared)
    const [oldest] = this.#prepared.keys()
    if (this.#prepared.size > mostStatements && oldest !== undefined) this.#prepared.delete(oldest)
    return prepared
  }
}

function kindOf(text: string): Prepared['kind'] {
  if (/\breturning\b/i.test(text)) return 'changed-rows'
  if (/^\s*(insert|update|delete|replace)\b/i.test(text)) return 'changes'
  return /^\s*(select|with|values|pragma|explain)\b/i.test(text) ? 'rows' : 'other'
}

/** node:sqlite binds every number as REAL: in a TEXT column 5 would become '5.0'. A bigint is bound as INTEGER. */
function bound(value: SqlValue): SQLInputValue {
  return Number.isSafeInteger(value) ? BigInt(value as number) : value
}

function toRow(raw: Record<string, unknown>): SqlRow {
  const row: Record<string, SqlValue> = {}
  for (const [column, value] of Object.entries(raw)) {
    if (value !== null && typeof value !== 'string' && typeof value !== 'number') throw new TypeError(`the column ${column} holds neither text nor number`)
    row[column.toLowerCase()] = value
  }
  return row
}
