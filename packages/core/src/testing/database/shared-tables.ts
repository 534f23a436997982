import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { databaseClockFunction, worldClockFunction } from './memory-fragments.ts'
import { MemoryDatabaseError } from './memory-error.ts'

/** Whoever has a transaction open. */
export type Holder = object

export interface TableClocks { readonly databaseMs: () => number; readonly worldMs: () => number }

/** What a statement gave; `lastInsertRowid` as SQLite has it. */
export interface RawResult { readonly rows: readonly Record<string, unknown>[]; readonly changes: number; readonly lastInsertRowid: number | bigint }

interface Logged { readonly text: string; readonly values: readonly SQLInputValue[]; readonly at: number; readonly changes: number }

const mostStatements = 200

/**
 * Tables in memory that several sessions share as they share a database file in WAL mode: one transaction at a time may write, the
 * others are turned away at once, and readers see what was committed, whatever is open. Two databases behind it: transactions work on the
 * one, and what they did is repeated on the other when they commit.
 */
export class SharedTables {
  readonly #clocks: TableClocks
  readonly #working: Tables
  readonly #committed: Tables
  #holder: Holder | undefined
  #log: Logged[] = []
  /** The database's clock while a statement is repeated: what it was the first time. */
  #pinned: number | undefined

  constructor(clocks: TableClocks) {
    this.#clocks = clocks
    const databaseMs = (): number => this.#pinned ?? clocks.databaseMs()
    this.#working = new Tables(databaseMs, clocks.worldMs)
    this.#committed = new Tables(databaseMs, clocks.worldMs)
  }

  /** True while a transaction is open. */
  get busy(): boolean { return this.#holder !== undefined }

  /** As BEGIN IMMEDIATE. @throws MemoryDatabaseError contended */
  begin(holder: Holder): void {
    this.#refuseOthers(holder)
    if (this.#holder === holder) throw new MemoryDatabaseError('unknown', 'a transaction is open on this session already')
    this.#working.exec('BEGIN')
    this.#holder = holder
    this.#log = []
  }

  /** @throws MemoryDatabaseError contended, for a write while somebody else's transaction is open */
  run(holder: Holder, text: string, values: readonly SQLInputValue[]): RawResult {
    if (/^\s*(begin|commit|end|rollback(?!\s+to))\b/i.test(text)) throw new MemoryDatabaseError('unsupported', `transactions begin and end by the session, not by a statement: ${text}`)
    if (this.#holder === holder) {
      const at = this.#clocks.databaseMs()
      const result = this.#working.run(text, values)
      if (!isRead(text)) this.#log.push({ text, values, at, changes: result.changes })
      return result
    }
    if (isRead(text)) return this.#committed.run(text, values)
    this.#refuseOthers(holder)
    const result = this.#working.run(text, values)
    this.#repeat({ text, values, at: this.#clocks.databaseMs(), changes: result.changes })
    return result
  }

  commit(holder: Holder): void {
    if (this.#holder !== holder) throw new MemoryDatabaseError('unknown', 'no transaction is open on this session')
    this.#working.exec('COMMIT')
    this.#holder = undefined
    const log = this.#log
    this.#log = []
    if (log.length === 0) return
    this.#committed.exec('BEGIN')
    for (const logged of log) this.#repeat(logged)
    this.#committed.exec('COMMIT')
  }

  /** Nothing when this holder has no transaction open. */
  rollback(holder: Holder): void {
    if (this.#holder !== holder) return
    this.#holder = undefined
    this.#log = []
    this.#working.exec('ROLLBACK')
  }

  close(): void {
    this.#working.close()
    this.#committed.close()
  }

  #refuseOthers(holder: Holder): void {
    if (this.#holder !== undefined && this.#holder !== holder) throw new MemoryDatabaseError('contended', 'another session has a transaction open')
  }

  #repeat({ text, values, at, changes }: Logged): void {
    this.#pinned = at
    try {
      const repeated = this.#committed.run(text, values)
      if (repeated.changes !== changes) throw new Error(`a statement changed ${changes} rows in its transaction and ${repeated.changes} when it was committed; it must not depend on chance: ${text}`)
    } finally {
      this.#pinned = undefined
    }
  }
}

/** One SQLite database in memory, and its prepared statements. */
class Tables {
  readonly #database = new DatabaseSync(':memory:')
  readonly #statements = new Map<string, { readonly statement: StatementSync; readonly gives: boolean }>()

  constructor(databaseMs: () => number, worldMs: () => number) {
    // A number would arrive as REAL. `deterministic` is meant within one statement, and time stands still while it runs.
    const whole = (read: () => number) => () => BigInt(Math.floor(read()))
    this.#database.function(databaseClockFunction, { deterministic: true }, whole(databaseMs))
    this.#database.function(worldClockFunction, { deterministic: true }, whole(worldMs))
  }

  exec(text: string): void { this.#database.exec(text) }

  run(text: string, values: readonly SQLInputValue[]): RawResult {
    const { statement, gives } = this.#prepare(text)
    if (gives) {
      const rows = statement.all(...values)
      return { rows, changes: isRead(text) ? 0 : rows.length, lastInsertRowid: 0 }
    }
    const { changes, lastInsertRowid } = statement.run(...values)
    // DDL leaves the count of the statement before.
    return { rows: [], changes: isChange(text) ? Number(changes) : 0, lastInsertRowid }
  }

  close(): void { this.#database.close() }

  #prepare(text: string): { statement: StatementSync; gives: boolean } {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    if (this.#statements.size >= mostStatements) this.#statements.clear()
    const prepared = { statement: this.#database.prepare(text), gives: isRead(text) || /\breturning\b/i.test(text) }
    this.#statements.set(text, prepared)
    return prepared
  }
}

function isChange(text: string): boolean { return /^\s*(insert|update|delete|replace|with)\b/i.test(text) }

function isRead(text: string): boolean {
  if (/^\s*(select|values|explain|pragma)\b/i.test(text)) return true
  return /^\s*with\b/i.test(text) && !/\b(insert|update|delete|replace)\b/i.test(text)
}
