import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Busy, refusalOf } from './sqlite-refusals.ts'
import { incorrectSyntax, locksRows, StatementRefused, translate, translateTable, type Step } from './sql-translation.ts'
import type { RpcValue } from './wire-reader.ts'
import type { Cell } from './wire-writer.ts'

// Ordinary SQL on an SQLite file: one writer at a time where SQL Server has row locks. A statement that writes, or locks rows, takes the
// writer's place and keeps it to the end of its transaction; others wait for it as long as LOCK_TIMEOUT says. Reads see what was committed
// last, with NOLOCK too. Not modelled: row locks, dirty reads, deadlocks and conflicts of SNAPSHOT between statements.

export interface StepAnswer {
  readonly columns?: readonly string[]
  readonly rows?: readonly (readonly Cell[])[]
  /** Undefined where SQL Server counts nothing. */
  readonly count?: number
}

export type Parameters = Readonly<Record<string, RpcValue>>

/** Functions of T-SQL that statements of the dialect call, for one session. */
export type SessionFunctions = Readonly<Record<string, (...values: never[]) => SQLInputValue>>

export interface SystemRows { readonly table: string; readonly columns: readonly string[]; rows(): readonly (readonly Cell[])[] }

export class SqlEngine {
  readonly #database: DatabaseSync
  readonly #system: readonly SystemRows[]
  #inTransaction = false
  #writing = false
  /** SET LOCK_TIMEOUT; -1 waits for ever. */
  lockTimeoutMs = -1

  constructor(file: string, functions: SessionFunctions, system: readonly SystemRows[]) {
    this.#database = new DatabaseSync(file)
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 0')
    this.#system = system
    for (const [name, body] of Object.entries(functions)) this.#database.function(name, { varargs: true }, body as (...values: unknown[]) => SQLInputValue)
    this.#database.function('code_units', { deterministic: true }, (text) => String(text).length)
    for (const { table, columns } of system) this.#database.exec(`CREATE TEMP TABLE ${table} (${columns.join(', ')})`)
  }

  get inTransaction(): boolean { return this.#inTransaction }

  begin(): void { this.#inTransaction = true }

  commit(): void { this.#end('COMMIT') }

  rollback(): void { this.#end('ROLLBACK') }

  close(): void { this.#database.close() }

  async run(step: Step, parameters: Parameters, cancelled: AbortSignal): Promise<StepAnswer> {
    switch (step.kind) {
      case 'query': return this.#query(step.text, parameters, cancelled)
      case 'slot': return this.#slot(step, parameters, cancelled)
      case 'create-table': return this.#create('table', step.table, `CREATE TABLE ${step.table} (${translateTable(step.body)})`, cancelled)
      case 'create-index': return this.#create('index', `[${step.index}]`, step.text, cancelled)
      case 'drop-table': {
        if (!this.#exists('table', step.table)) {
          if (step.ifExists) return {}
          throw new StatementRefused({ number: 3701, severity: 11, message: `Cannot drop the table '${step.table}', because it does not exist or you do not have permission.` })
        }
        await this.#write(cancelled, () => { this.#database.exec(`DROP TABLE ${step.table}`) })
        return {}
      }
      case 'set': case 'kill': throw incorrectSyntax(step.kind)
    }
  }

  async #query(text: string, parameters: Parameters, cancelled: AbortSignal): Promise<StepAnswer> {
    const sql = translate(text)
    const select = text.startsWith('SELECT ')
    const work = (): StepAnswer => select ? this.#select(sql, parameters) : { count: this.#change(sql, parameters) }
    if (!select || locksRows(text)) return this.#write(cancelled, work)
    return this.#patiently(cancelled, work)
  }

  /** The dialect's statement N: guards, insert, and a caught duplicate. */
  async #slot({ clock, guard, insert }: Step & { kind: 'slot' }, parameters: Parameters, cancelled: AbortSignal): Promise<StepAnswer> {
    return this.#write(cancelled, () => {
      const now = this.#select(`SELECT ${translate(clock)} AS now`, {}).rows?.[0]?.[0] as number
      const eligible = this.#select(`SELECT (SELECT ${translate(guard)}) AS eligible`, { ...parameters, now }).rows?.[0]?.[0] as number
      let won = 0
      try {
        if (eligible > 0) won = this.#change(translate(insert), { ...parameters, now })
      } catch (error) {
        if (!(error instanceof StatementRefused) || ![2627, 2601].includes(error.answer.number)) throw error
      }
      return { columns: ['won', 'eligible', 'db_now'], rows: [[won, eligible > 0 ? 1 : 0, now]], count: 1 }
    })
  }

  /** It looks, and creates a turn later: in between somebody else may have been faster, as on the server. */
  async #create(what: 'table' | 'index', name: string, sql: string, cancelled: AbortSignal): Promise<StepAnswer> {
    if (this.#exists(what, name)) return {}
    await sleep(2)
    await this.#write(cancelled, () => {
      if (this.#exists(what, name)) {
        const plain = name.replaceAll(/[[\]]/g, '')
        throw new StatementRefused(what === 'table'
          ? { number: 2714, severity: 16, message: `There is already an object named '${plain}' in the database.` }
          : { number: 1913, severity: 16, message: `The operation failed because an index or statistics with name '${plain}' already exists.` })
      }
      this.#guarded(() => { this.#database.exec(sql) })
    })
    return {}
  }

  #exists(what: 'table' | 'index', name: string): boolean {
    const plain = name.replaceAll(/[[\]]/g, '').split('.').at(-1) ?? ''
    return this.#database.prepare('SELECT 1 AS found FROM sqlite_master WHERE type = ? AND name = ?').get(what, plain) !== undefined
  }

  /** Takes the writer's place first. Outside a transaction it is given back at once. */
  async #write<T>(cancelled: AbortSignal, work: () => T): Promise<T> {
    if (!this.#writing) await this.#patiently(cancelled, () => { this.#guarded(() => { this.#database.exec('BEGIN IMMEDIATE') }) })
    this.#writing = true
    this.#database.exec('SAVEPOINT statement')
    try {
      const result = work()
      this.#database.exec('RELEASE statement')
      if (!this.#inTransaction) this.#end('COMMIT')
      return result
    } catch (error) {
      this.#database.exec('ROLLBACK TO statement; RELEASE statement')
      if (!this.#inTransaction) this.#end('ROLLBACK')
      throw error
    }
  }

  async #patiently<T>(cancelled: AbortSignal, work: () => T): Promise<T> {
    const startedAt = performance.now()
    for (;;) {
      cancelled.throwIfAborted()
      try {
        return work()
      } catch (error) {
        if (!(error instanceof Busy)) throw error
        if (this.lockTimeoutMs >= 0 && performance.now() - startedAt >= this.lockTimeoutMs) {
          throw new StatementRefused({ number: 1222, severity: 16, state: 51, message: 'Lock request time out period exceeded.' })
        }
        await sleep(3)
      }
    }
  }

  #end(how: 'COMMIT' | 'ROLLBACK'): void {
    if (this.#writing) this.#database.exec(how)
    this.#writing = false
    this.#inTransaction = false
  }

  #select(sql: string, parameters: Parameters): StepAnswer {
    for (const view of this.#system.filter(({ table }) => sql.includes(table))) {
      const { table, columns } = view
      this.#database.exec(`DELETE FROM temp.${table}`)
      const insert = this.#database.prepare(`INSERT INTO temp.${table} VALUES (${columns.map(() => '?').join(', ')})`)
      for (const row of view.rows()) insert.run(...row)
    }
    return this.#guarded(() => {
      const statement = this.#database.prepare(sql)
      const rows = statement.all(valuesIn(sql, parameters)) as Record<string, Cell>[]
      const columns = statement.columns().map(({ name }) => name)
      return { columns, rows: rows.map((row) => columns.map((column) => row[column] ?? null)), count: rows.length }
    })
  }

  #change(sql: string, parameters: Parameters): number {
    return this.#guarded(() => Number(this.#database.prepare(sql).run(valuesIn(sql, parameters)).changes))
  }

  #guarded<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw refusalOf(error)
    }
  }
}

/** node:sqlite binds numbers as REAL, and knows no value that the text does not name. */
function valuesIn(sql: string, parameters: Parameters): Record<string, SQLInputValue> {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => new RegExp(`@${name}\\b`).test(sql))
    .map(([name, value]) => [name, Number.isSafeInteger(value) ? BigInt(value as number) : value]))
}
