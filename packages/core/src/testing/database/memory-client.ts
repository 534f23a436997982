import type { SQLInputValue } from 'node:sqlite'
import type { RawResult } from './shared-tables.ts'

/** A prepared statement of `MemoryClient`. Values are bound by position. */
export interface MemoryStatement {
  run(...values: SQLInputValue[]): { readonly changes: number; readonly lastInsertRowid: number | bigint }
  get(...values: SQLInputValue[]): Record<string, unknown> | undefined
  all(...values: SQLInputValue[]): Record<string, unknown>[]
}

/**
 * What `ctx.transaction` hands to the task on the database in memory: the part of node:sqlite's DatabaseSync that statements need. Its
 * calls take no time; once the session has ended they throw.
 */
export interface MemoryClient {
  /** One statement without a result. */
  exec(text: string): void
  prepare(text: string): MemoryStatement
}

export function memoryClient(run: (text: string, values: readonly SQLInputValue[]) => RawResult): MemoryClient {
  return {
    exec: (text) => { run(text, []) },
    prepare: (text) => ({
      run: (...values) => (({ changes, lastInsertRowid }) => ({ changes, lastInsertRowid }))(run(text, values)),
      get: (...values) => run(text, values).rows[0],
      all: (...values) => [...run(text, values).rows],
    }),
  }
}
