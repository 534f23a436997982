import type { SqlFragments } from '@sched/core/spi'

// UTC, without a session time zone, from 2016 on. datetime2(7) is precise to 100 ns, the clock behind it to about a millisecond; it
// stands still within a statement. https://learn.microsoft.com/sql/t-sql/functions/datediff-big-transact-sql
const nowMs = "DATEDIFF_BIG(MILLISECOND, '19700101', SYSUTCDATETIME())"

// By code point, whatever the database's collation folds. Trailing spaces do not count all the same: see session/kept-spaces.ts.
// https://learn.microsoft.com/sql/relational-databases/collations/collation-and-unicode-support#Binary-collations
const byCodePoint = 'COLLATE Latin1_General_BIN2'

/** One more for the mark behind a trailing space. */
const text = (length: number): string => `nvarchar(${length + 1}) ${byCodePoint}`

function quote(identifier: string): string { return `[${identifier}]` }

export const fragments: SqlFragments = {
  nowMs,
  dual: '',
  limit: (rows) => ` OFFSET 0 ROWS FETCH NEXT ${rows} ROWS ONLY`, // a part of ORDER BY: https://learn.microsoft.com/sql/t-sql/queries/select-order-by-clause-transact-sql
  lockRow: '', // FOR UPDATE is for cursors
  // Kept to the end of the transaction; readers do not wait for it. https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table
  lockHint: ' WITH (UPDLOCK, ROWLOCK)',
  // Without READ_COMMITTED_SNAPSHOT a plain SELECT waits for writers. Not READPAST: it takes a row that is locked for one that is not
  // there, and a node in the middle of its heartbeat for a dead one. What was read is only a candidate: a guarded UPDATE decides.
  // https://learn.microsoft.com/sql/t-sql/queries/hints-transact-sql-table
  readHint: ' WITH (NOLOCK)',
  quote,
  types: {
    integer: 'bigint',
    // nvarchar too: parameters are nvarchar, and no index is left aside for a conversion. 900 bytes of key are the least limit
    // (https://learn.microsoft.com/sql/sql-server/maximum-capacity-specifications-for-sql-server); the longest of ours has 608.
    ascii: text,
    name: (length) => text(2 * length), // nvarchar counts code units, of which a character has up to two
    text: `nvarchar(max) ${byCodePoint}`, // 4,000 characters may be 8,000 code units
    longText: `nvarchar(max) ${byCodePoint}`,
  },
  supportsOnConflict: false, // MERGE is no substitute: it races without HOLDLOCK, and needs no less than what the core does in two steps
  // It looks before it creates: of two at once one may still fail, with 2714 or 1913.
  createTable: (table, body) => `IF OBJECT_ID(N'${table}', N'U') IS NULL CREATE TABLE ${table} (${body})`,
  createIndex: (index, table, columns) => `IF NOT EXISTS (SELECT 1 FROM sys.indexes WHERE object_id = OBJECT_ID(N'${table}', N'U') AND name = N'${index}') CREATE INDEX ${quote(index)} ON ${table} (${columns})`,
}
