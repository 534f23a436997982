import type { SqlFragments } from '@sched/core/spi'

/** SQLite's side of the ledger's statements. Text compares by BINARY, SQLite's default: case and trailing spaces count. */
export const sqliteFragments: SqlFragments = {
  // SQLite has no clock but the host's; `subsec` came with 3.42, Node 22.13 brings 3.47. Exact to the millisecond, unlike julianday
  // (sqlite.org/lang_datefunc.html; measured over 3 million values). Fixed within a statement, moving within a transaction.
  nowMs: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  dual: '',
  limit: (rows) => ` LIMIT ${rows}`,
  lockRow: '', // a writer has the whole database (BEGIN IMMEDIATE)
  readHint: '', // in WAL mode readers never wait for a writer
  quote: (identifier) => `"${identifier}"`,
  types: { integer: 'INTEGER', ascii: () => 'TEXT', name: () => 'TEXT', text: 'TEXT', longText: 'TEXT' },
  supportsOnConflict: true,
  // STRICT refuses values of the wrong type, which SQLite would otherwise store as they come (sqlite.org/stricttables.html).
  createTable: (table, body) => `CREATE TABLE IF NOT EXISTS ${table} (${body}) STRICT`,
  createIndex(index, table, columns) {
    // A schema goes before the index, not before the table (sqlite.org/lang_createindex.html).
    const [name = table, schema] = table.split('.').reverse()
    return `CREATE INDEX IF NOT EXISTS ${schema === undefined ? '' : `${schema}.`}"${index}" ON ${name} (${columns})`
  },
}
