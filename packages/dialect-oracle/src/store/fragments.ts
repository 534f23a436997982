import type { SqlFragments } from '@sched/core/spi'

// SYSTIMESTAMP is the time of the server's host with its zone, SYS_EXTRACT_UTC takes the zone away; no session setting has a part in it.
// https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/SYS_EXTRACT_UTC.html
// One statement reads the clock once, so the four parts belong together (not yet verified live; test/containers asks).
const sinceEpoch = "(SYS_EXTRACT_UTC(SYSTIMESTAMP) - TIMESTAMP '1970-01-01 00:00:00')"
export const nowMs: string = `(EXTRACT(DAY FROM ${sinceEpoch}) * 86400000 + EXTRACT(HOUR FROM ${sinceEpoch}) * 3600000`
  + ` + EXTRACT(MINUTE FROM ${sinceEpoch}) * 60000 + FLOOR(EXTRACT(SECOND FROM ${sinceEpoch}) * 1000))`

/** In capitals, as Oracle keeps names that are written without quotes: `SELECT … FROM sched_tasks` works for people. At most 30 bytes. */
function quote(identifier: string): string { return `"${identifier.toUpperCase()}"` }

// VARCHAR2 does not pad, and its length in CHAR is characters, not bytes; comparison is binary by the settings of the session.
// An index key may have 6,398 bytes with blocks of 8 KB: the longest of ours has below 800.
// https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/Data-Types.html, …/refrn/logical-database-limits.html
const varchar = (length: number): string => `VARCHAR2(${length} CHAR)`

export const fragments: SqlFragments = {
  nowMs,
  dual: ' FROM DUAL', // needed before 23ai
  limit: (rows) => ` FETCH FIRST ${rows} ROWS ONLY`, // 12.1 and later
  lockRow: ' FOR UPDATE WAIT 1', // the protocol's limit; see session/row-lock-limit.ts
  readHint: '', // a plain SELECT never waits for writers: Database Concepts, "Multiversion Read Consistency"
  quote,
  types: {
    integer: 'NUMBER(19)',
    ascii: varchar,
    name: varchar,
    text: varchar(4_000), // 4,000 bytes in the end, unless MAX_STRING_SIZE is EXTENDED
    longText: 'CLOB',
  },
  // MERGE is no atomic upsert: of two that meet an absent key one ends in ORA-00001. UPDATE, then INSERT, and a duplicate is an answer.
  supportsOnConflict: false,
  // IF NOT EXISTS came with 23ai; ORA-00955 and ORA-01408 are `already-exists`, which the core tolerates.
  createTable: (table, body) => `CREATE TABLE ${table} (${body})`,
  createIndex(index, table, columns) {
    // An index without a schema would be made in the user's own, not in the table's.
    const schema = /^(.+)\.[^.]+$/.exec(table)?.[1]
    return `CREATE INDEX ${schema === undefined ? '' : `${schema}.`}${quote(index)} ON ${table} (${columns})`
  },
}
