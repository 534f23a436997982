import type { SqlFragments } from '../../spi/store-dialect.ts'

/** Reads the database's clock, by which leases are judged. */
export const databaseClockFunction = 'database_now_ms'
/** Reads the world's time, which no fault changes: for triggers of tests. */
export const worldClockFunction = 'world_now_ms'

/** The ledger's SQL in memory: SQLite's, with a clock that is driven by hand. */
export const memoryFragments: SqlFragments = {
  nowMs: `${databaseClockFunction}()`,
  dual: '',
  limit: (rows) => ` LIMIT ${rows}`,
  lockRow: '', // one writer: a transaction has the whole database from its BEGIN
  readHint: '', // readers see what is committed and wait for nobody
  quote: (identifier) => `"${identifier}"`,
  types: { integer: 'INTEGER', ascii: () => 'TEXT', name: () => 'TEXT', text: 'TEXT', longText: 'TEXT' },
  supportsOnConflict: true,
  createTable: (table, body) => `CREATE TABLE IF NOT EXISTS ${table} (${body}) STRICT`,
  createIndex: (index, table, columns) => `CREATE INDEX IF NOT EXISTS "${index}" ON ${table} (${columns})`,
}
