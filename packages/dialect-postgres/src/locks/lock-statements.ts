import type { SqlValue, Statement } from '@sched/core/spi'
import type { LockKey } from './lock-key.ts'

// Functions: https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS
// View:      https://www.postgresql.org/docs/current/view-pg-locks.html
// All are named with their schema, so that nothing in the search path can stand in for them.

/**
 * True only on the session that was opened: it was given this mark then. No row comes back where a pooler has put the statement on
 * another session, or another client on ours; the WHERE is judged before the lock function is called.
 */
const onThisSession = "WHERE pg_catalog.current_setting('sched.session', true) ="

/** The rows of pg_locks for one bigint key of this database: objsubid 1 (two int4 keys have 2, a space of their own). */
const thisLock = `FROM pg_catalog.pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
 AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
 AND l.classid = ?::oid AND l.objid = ?::oid`

const place = ({ classId, objId }: LockKey): readonly SqlValue[] => [classId, objId]

/** One try. `granted`: true, or false at once when any other session has it (its own would be granted again: locks stack). */
export function tryStatement({ key }: LockKey, mark: string): Statement {
  return { text: `SELECT pg_catalog.pg_try_advisory_lock(?::bigint) AS granted ${onThisSession} ?`, params: [key, mark] }
}

/**
 * Waits at most `waitMs` (over in 55P03), in one message: several statements sent together are one transaction, so SET LOCAL ends
 * with them. https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-MULTI-STATEMENT
 * Such a message takes no parameters: the key is a number of ours, the mark hexadecimal. A lock that was granted stays when the
 * transaction ends, however it ends: session-level locks do not honour transactions.
 */
export function waitBatch({ key }: LockKey, mark: string, waitMs: number): string {
  // 0 would wait for ever, and so would a fraction below half a millisecond.
  const limitMs = Math.min(Math.max(1, Math.ceil(waitMs)), 2_147_483_647)
  return `SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = ${limitMs}; SELECT pg_catalog.pg_advisory_lock('${key}'::bigint) ${onThisSession} '${mark}'`
}

/** `released`: true, or false (and a warning in the server's log) when this session does not hold it. */
export function unlockStatement({ key }: LockKey, mark: string): Statement {
  return { text: `SELECT pg_catalog.pg_advisory_unlock(?::bigint) AS released ${onThisSession} ?`, params: [key, mark] }
}

/** `held`: 2 by this session, 1 by another, 0 by none. */
export function heldStatement(key: LockKey, mark: string): Statement {
  return {
    text: `SELECT (SELECT coalesce(max(CASE WHEN l.pid = pg_catalog.pg_backend_pid() THEN 2 ELSE 1 END), 0) ${thisLock}) AS held ${onThisSession} ?`,
    params: [...place(key), mark],
  }
}

/** One row when this is the session that was opened. */
export function sameSessionStatement(mark: string): Statement {
  return { text: `SELECT 1 AS same ${onThisSession} ?`, params: [mark] }
}

/**
 * The holder's session. https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW
 * Everybody may see the pid, the role and the application name of any session; the rest of another role's session, `backend_start`
 * and the address among it, is NULL without pg_read_all_stats. Neither view knows since when a lock is held.
 */
export function holderStatement(key: LockKey): Statement {
  return {
    text: `SELECT h.pid, a.usename, a.application_name, pg_catalog.host(a.client_addr) AS address, a.client_hostname, a.backend_start IS NULL AS hidden, pg_catalog.quote_ident(current_user) AS me
 FROM (SELECT l.pid ${thisLock} LIMIT 1) h LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = h.pid`,
    params: place(key),
  }
}
