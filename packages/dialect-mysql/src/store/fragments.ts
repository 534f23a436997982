import type { SqlFragments } from '@sched/core/spi'

// The clock in UTC, read when the statement begins. UNIX_TIMESTAMP() and SYSDATE() pass through the session's time zone.
// https://dev.mysql.com/doc/refman/9.7/en/date-and-time-functions.html#function_utc-timestamp
const nowMs = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) DIV 1000"

/**
 * Keys are bytes of UTF-8: compared by code point, and spaces at the end count. No text type does that on both products: utf8mb4_bin
 * and ascii_bin ignore them, utf8mb4_0900_bin is MySQL's alone and utf8mb4_nopad_bin MariaDB's.
 * https://dev.mysql.com/doc/refman/9.7/en/binary-varbinary.html, https://mariadb.com/docs/server/reference/data-types/string-data-types/varbinary
 */
function key(bytes: number): string { return `VARBINARY(${bytes})` }

const unicodeText = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'

function quote(identifier: string): string { return `\`${identifier}\`` }

export const fragments: SqlFragments = {
  nowMs: `(${nowMs})`,
  dual: ' FROM DUAL', // MySQL 5.7 and old MariaDB want one before a WHERE
  limit: (rows) => ` LIMIT ${rows}`,
  lockRow: ' FOR UPDATE',
  readHint: '', // a plain SELECT never waits for writers: https://dev.mysql.com/doc/refman/9.7/en/innodb-consistent-read.html
  quote,
  types: {
    integer: 'BIGINT',
    ascii: (length) => key(length),
    name: (length) => key(length * 4), // a code point is at most four bytes; InnoDB's index takes 3,072
    text: `TEXT ${unicodeText}`, // 65,535 bytes
    longText: `LONGTEXT ${unicodeText}`,
  },
  supportsOnConflict: false,
  // The engine is named: rows of MyISAM know no transactions. https://dev.mysql.com/doc/refman/9.7/en/create-table.html
  createTable: (table, body) => `CREATE TABLE IF NOT EXISTS ${table} (${body}) ENGINE=InnoDB ROW_FORMAT=DYNAMIC`,
  // Without IF NOT EXISTS, which only MariaDB has: a second one is error 1061, which is `already-exists`.
  createIndex: (index, table, columns) => `CREATE INDEX ${quote(index)} ON ${table} (${columns})`,
}
