import type { SqlFragments } from '@sched/core/spi'

// clock_timestamp() moves inside a transaction and a statement, now() does not; the epoch knows no time zone.
// https://www.postgresql.org/docs/current/functions-datetime.html#FUNCTIONS-DATETIME-CURRENT
const nowMs = 'pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000)::bigint'

// Compares bytes, which in UTF-8 is by code point, whatever the database's collation ignores or folds.
// varchar does not pad: trailing spaces count. https://www.postgresql.org/docs/current/collation.html#COLLATION-MANAGING-STANDARD
const byCodePoint = 'COLLATE "C"'

function quote(identifier: string): string { return `"${identifier}"` }

export const fragments: SqlFragments = {
  nowMs,
  dual: '',
  limit: (rows) => ` LIMIT ${rows}`,
  lockRow: ' FOR UPDATE',
  readHint: '', // a plain SELECT never waits for writers: https://www.postgresql.org/docs/current/mvcc-intro.html
  quote,
  types: {
    integer: 'bigint',
    ascii: (length) => `varchar(${length}) ${byCodePoint}`,
    name: (length) => `varchar(${length}) ${byCodePoint}`, // counts characters, not bytes
    text: 'text',
    longText: 'text',
  },
  supportsOnConflict: true, // https://www.postgresql.org/docs/current/sql-insert.html#SQL-ON-CONFLICT
  // IF NOT EXISTS looks before it writes: of two at once one may still fail, with 42P07 or with 23505 on the catalog.
  createTable: (table, body) => `CREATE TABLE IF NOT EXISTS ${table} (${body})`,
  createIndex: (index, table, columns) => `CREATE INDEX IF NOT EXISTS ${quote(index)} ON ${table} (${columns})`,
}
