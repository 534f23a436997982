import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { NotModelledError, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import { clockFunction, type TranslatedStandIn } from './sql-translation-stand-in.ts'

export type ValueStandIn = string | number | null
export type ColumnTypeStandIn = 'NUMBER' | 'VARCHAR2' | 'CLOB'
export interface ColumnStandIn { readonly name: string; readonly type: ColumnTypeStandIn }
export type RowStandIn = Readonly<Record<string, ValueStandIn>>

/** What one statement found or did, and what a transaction now holds on top of the committed rows. */
export interface StatementResultStandIn {
  readonly columns: readonly ColumnStandIn[]
  readonly rows: readonly (readonly ValueStandIn[])[]
  readonly affected: number
  /** Rows and unique keys it wants to lock. */
  readonly keys: readonly string[]
  readonly changes: Uint8Array | undefined
}

/**
 * The committed rows, in SQLite. Uncommitted changes of a transaction live outside, as a changeset that is laid over the committed rows
 * for each of its statements and taken away after it: so nobody sees them but their own session, and each statement sees what others
 * have committed meanwhile (READ COMMITTED). https://nodejs.org/api/sqlite.html#databasecreatesessionoptions
 */
export class TablesStandIn {
  readonly #database = new DatabaseSync(':memory:')

  constructor(now: () => number) {
    this.#database.function(clockFunction, { directOnly: false }, () => now())
    this.#database.exec("CREATE TABLE dual (dummy TEXT NOT NULL PRIMARY KEY); INSERT INTO dual VALUES ('X')")
  }

  /** Runs it on the committed rows with the transaction's own changes over them; leaves the committed rows as they were. */
  try(statement: TranslatedStandIn, values: readonly ValueStandIn[], changes: Uint8Array | undefined): StatementResultStandIn {
    return this.#overlaid(changes, () => {
      switch (statement.kind) {
        case 'query': return { ...this.#query(statement.text, values), affected: 0, keys: [] }
        case 'lock': return { ...this.#query(statement.text, values), affected: 0, keys: this.#rowKeys(statement, values) }
        case 'insert':
        case 'update': return this.#change(statement, values)
        case 'ddl': throw new NotModelledError('DDL inside a statement that can be undone')
      }
    })
  }

  /** DDL commits by itself. */
  define(text: string): void { this.#named(() => { this.#database.exec(text) }) }

  commit(changes: Uint8Array | undefined): void {
    if (changes === undefined) return
    if (!this.#database.applyChangeset(changes, { onConflict: () => 2 })) throw new Error('the Oracle stand-in let two transactions change one row')
  }

  /** Refills a table that stands for a view of the server. */
  fill(view: string, columns: readonly string[], rows: readonly (readonly ValueStandIn[])[]): void {
    this.#database.exec(`CREATE TABLE IF NOT EXISTS ${view} (${columns.join(', ')}); DELETE FROM ${view}`)
    const insert = this.#database.prepare(`INSERT INTO ${view} VALUES (${columns.map(() => '?').join(', ')})`)
    for (const row of rows) insert.run(...row.map(bound))
  }

  close(): void { this.#database.close() }

  #overlaid<T extends object>(changes: Uint8Array | undefined, work: () => T): T & { readonly changes: Uint8Array | undefined } {
    const database = this.#database
    database.exec('BEGIN')
    const session = database.createSession()
    try {
      if (changes !== undefined) database.applyChangeset(changes, { onConflict: () => 2 })
      const result = this.#named(work)
      const all = session.changeset()
      return { ...result, changes: all.length === 0 ? undefined : all }
    } finally {
      session.close()
      database.exec('ROLLBACK')
    }
  }

  #query(text: string, values: readonly ValueStandIn[]): { columns: ColumnStandIn[]; rows: ValueStandIn[][] } {
    const prepared = this.#database.prepare(text)
    prepared.setReturnArrays(true)
    const rows = prepared.all(...values.map(bound)) as unknown as ValueStandIn[][]
    return { columns: prepared.columns().map(({ name, type }, index) => ({ name: name.toUpperCase(), type: typeOf(type, rows.map((row) => row[index] ?? null)) })), rows }
  }

  #change(statement: TranslatedStandIn, values: readonly ValueStandIn[]): Omit<StatementResultStandIn, 'changes'> {
    const rows = this.#database.prepare(`${statement.text} RETURNING *`).all(...values.map(bound)) as unknown as RowStandIn[]
    return { columns: [], rows: [], affected: rows.length, keys: rows.flatMap((row) => this.#keysOf(statement.table, row, statement.kind === 'insert')) }
  }

  /** The rows of `SELECT … FROM table WHERE …`, by their primary keys. The values of the condition come last. */
  #rowKeys({ text, table }: TranslatedStandIn, values: readonly ValueStandIn[]): string[] {
    const from = text.indexOf(` FROM ${table ?? ''}`)
    if (table === undefined || from < 0 || text.slice(0, from).includes('?')) throw new NotModelledError(`the row locks of: ${text}`)
    const rows = this.#database.prepare(`SELECT *${text.slice(from)}`).all(...values.map(bound)) as unknown as RowStandIn[]
    return rows.flatMap((row) => this.#keysOf(table, row, false))
  }

  /** A change locks its row; an insert holds every unique key of the new row against others until it is committed. */
  #keysOf(table: string | undefined, row: RowStandIn, unique: boolean): string[] {
    if (table === undefined) throw new NotModelledError('a change without a table')
    const key = (columns: readonly string[]): string => `${table} ${columns.map((column) => JSON.stringify(row[column])).join(',')}`
    const primary = (this.#database.prepare(`PRAGMA table_info(${table})`).all() as { name: string; pk: number }[]).filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk).map(({ name }) => name)
    const indexes = unique ? this.#database.prepare(`PRAGMA index_list(${table})`).all() as { name: string; unique: number; origin: string }[] : []
    return [key(primary), ...indexes.filter((index) => index.unique === 1 && index.origin !== 'pk')
      .map(({ name }) => key((this.#database.prepare(`PRAGMA index_info("${name}")`).all() as { name: string }[]).map((column) => column.name)))]
  }

  /** SQLite's errors under Oracle's numbers. */
  #named<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      const { errcode, message } = error as Error & { errcode?: number }
      if (errcode === 1555 || errcode === 2067) throw new OracleErrorStandIn(1, `unique constraint (${message}) violated`)
      if (errcode === 1299) throw new OracleErrorStandIn(1400, `cannot insert NULL into (${message})`)
      if (/^no such table: /.test(message)) throw new OracleErrorStandIn(942, `table or view ${message.slice(15)} does not exist`)
      if (/already exists$/.test(message)) throw new OracleErrorStandIn(955, 'name is already used by an existing object')
      throw error
    }
  }
}

/** Of a column as it was declared, of an expression as its values are. */
function typeOf(declared: string | null, values: readonly ValueStandIn[]): ColumnTypeStandIn {
  if (declared === 'CLOB') return 'CLOB'
  if (declared !== null && /CHAR|TEXT/.test(declared)) return 'VARCHAR2'
  return declared?.startsWith('NUMBER') === true || values.some((value) => typeof value === 'number') ? 'NUMBER' : 'VARCHAR2'
}

/** The empty string is NULL. node:sqlite would bind every number as REAL. */
function bound(value: ValueStandIn): SQLInputValue {
  if (value === '') return null
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
}
