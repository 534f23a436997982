import type { Statement } from '@sched/core/spi'
import type { Vendor } from '../errors/vendor.ts'

// Functions: https://dev.mysql.com/doc/refman/9.7/en/locking-functions.html,
// https://mariadb.com/docs/server/reference/sql-functions/secondary-functions/miscellaneous-functions/get_lock

/**
 * True only on the session that was opened, and only as long as nothing has reset it: a reset (COM_RESET_CONNECTION,
 * COM_CHANGE_USER) takes away user variables and locks together. No row comes back elsewhere; the WHERE is judged before the lock
 * function is called [tried]. https://dev.mysql.com/doc/c-api/9.7/en/mysql-reset-connection.html
 */
const onThisSession = 'FROM DUAL WHERE @sched_session ='

/**
 * One try. `granted`: 1, or 0 at once when another session has it (its own would be granted again: locks stack). NULL is an error:
 * the server ran out of memory or the thread was killed; MariaDB gives NULL instead of an error when a wait is interrupted, too.
 */
export function tryStatement(name: string, mark: string): Statement {
  return { text: `SELECT GET_LOCK(?, 0) AS granted ${onThisSession} ?`, params: [name, mark] }
}

/**
 * Waits at most `waitMs`. MariaDB takes seconds with fractions. MySQL rounds to whole seconds, so it is given the next whole second
 * and a limit for this statement in milliseconds (over in 3024):
 * https://dev.mysql.com/doc/refman/9.7/en/optimizer-hints.html#optimizer-hints-execution-time
 */
export function waitStatement(vendor: Vendor, name: string, mark: string, waitMs: number): Statement {
  const ms = Math.min(Math.max(1, Math.ceil(waitMs)), 2_147_483_647)
  if (vendor === 'mariadb') return { text: `SELECT GET_LOCK(?, ?) AS granted ${onThisSession} ?`, params: [name, ms / 1_000, mark] }
  return { text: `SELECT /*+ MAX_EXECUTION_TIME(${ms}) */ GET_LOCK(?, ?) AS granted ${onThisSession} ?`, params: [name, Math.ceil(ms / 1_000), mark] }
}

/** `released`: 1; 0 when another session holds it; NULL when nobody does. */
export function releaseStatement(name: string, mark: string): Statement {
  return { text: `SELECT RELEASE_LOCK(?) AS released ${onThisSession} ?`, params: [name, mark] }
}

/** `holder`: the id of the session that holds it, or NULL; `me`: this session's. */
export function holderStatement(name: string, mark: string): Statement {
  return { text: `SELECT IS_USED_LOCK(?) AS holder, CONNECTION_ID() AS me ${onThisSession} ?`, params: [name, mark] }
}

/** One row when this is the session that was opened. */
export function sameSessionStatement(mark: string): Statement {
  return { text: `SELECT 1 AS same ${onThisSession} ?`, params: [mark] }
}
