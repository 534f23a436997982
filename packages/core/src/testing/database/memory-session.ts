import type { SQLInputValue } from 'node:sqlite'
import type { SqlResult, SqlRow, SqlSession, SqlValue, Statement } from '../../spi/sql-session.ts'
import type { SessionCall, Step } from '../faults/faults.ts'
import { nameOfStatement, type StatementName } from '../faults/statement-name.ts'
import { memoryClient, type MemoryClient } from './memory-client.ts'
import type { ServerSession } from './server-session.ts'
import type { RawResult } from './shared-tables.ts'
import type { Wire } from './wire.ts'

/** A session of the database in memory, as the core sees it. */
export class MemorySession implements SqlSession<MemoryClient> {
  readonly client: MemoryClient
  readonly id: number
  readonly #wire: Wire
  readonly #from: Pick<Step, 'node' | 'purpose'>
  #block: StatementName | undefined

  constructor(wire: Wire, session: ServerSession, from: Pick<Step, 'node' | 'purpose'>) {
    this.#wire = wire
    this.#from = from
    this.id = session.id
    this.client = memoryClient((text, values) => {
      if (wire.closed !== undefined) throw wire.closed
      return session.run(text, values)
    })
  }

  async run({ text, params }: Statement): Promise<SqlResult> {
    const marks = text.split('?').length - 1
    if (params.length !== marks) throw new TypeError(`a statement with ${marks} marks was given ${params.length} values: ${text}`)
    const name = nameOfStatement(text)
    const writes = !/^\s*select\b/i.test(text)
    const result = await this.#wire.request(this.#step(name, text), (session) => session.run(preparedOnce(text), params.map(bound)))
    if (writes && name !== undefined) this.#block = name
    return toResult(result)
  }

  begin(): Promise<void> {
    this.#block = undefined
    return this.call('BEGIN', (session) => { session.begin() })
  }

  commit(): Promise<void> { return this.call('COMMIT', (session) => { session.commit() }) }

  rollback(): Promise<void> { return this.call('ROLLBACK', (session) => { session.rollback() }) }

  ping(): Promise<void> { return this.call('ping', (session) => { session.ping() }) }

  destroy(): void { this.#wire.hangUp() }

  onLost(callback: (cause: Error) => void): void { this.#wire.onLost(callback) }

  /** A call that is no statement. */
  call<T>(name: SessionCall, work: (session: ServerSession) => T): Promise<T> { return this.#wire.request(this.#step(name, name), work) }

  #step(name: Step['name'], text: string): Step { return { ...this.#from, name, block: this.#block, text } }
}

/**
 * A bare mark in a comparison may decide SQLite's plan, so it would prepare the statement again for every call; a sign before it does not.
 * https://www.sqlite.org/c3ref/prepare.html
 */
function preparedOnce(text: string): string { return text.replaceAll('?', '+?') }

/** node:sqlite binds every number as REAL, which a TEXT column would keep as '5.0'. */
function bound(value: SqlValue): SQLInputValue { return Number.isSafeInteger(value) ? BigInt(value as number) : value }

function toResult({ rows, changes }: RawResult): SqlResult {
  return { rows: rows.map(toRow), affected: changes }
}

function toRow(raw: Record<string, unknown>): SqlRow {
  const row: Record<string, SqlValue> = {}
  for (const [column, value] of Object.entries(raw)) {
    if (value !== null && typeof value !== 'string' && typeof value !== 'number') throw new TypeError(`the column ${column} holds neither text nor number`)
    row[column.toLowerCase()] = value
  }
  return row
}
