import { SchedError } from '../errors.ts'
import { encodeLockName } from '../spi/lock-name.ts'
import type { LockConnection, LockRequest } from '../spi/lock-source.ts'
import type { SqlSession, SqlValue } from '../spi/sql-session.ts'
import type { SqlFragments, Tables } from '../spi/store-dialect.ts'
import type { Fence } from './lock-attempt.ts'

/** The width of `sched_locks.lock_name`. */
const longestKey = 190

/**
 * Tokens for native locks: a companion row in `sched_locks`, raised on the very session that holds the lock, because from another
 * connection a holder that was thrown out could still draw the larger token. max(old + 1, database clock in ms), so that tokens
 * grow even after the row was purged or restored. The row looks expired to a lock table, whose tokens it shares.
 */
export function createFence(sql: SqlFragments, tables: Tables): Fence {
  return async (connection, request) => {
    const session = sqlOf(connection)
    const key = encodeLockName(request.name, longestKey)
    const token = sql.supportsOnConflict ? await upsert(session, sql, tables, key, request) : await updateOrInsert(session, sql, tables, key, request)
    if (typeof token === 'number') return token
    throw new SchedError('SCHED_STATEMENT_FAILED', `the fencing row of ${JSON.stringify(request.name.name)} vanished while it was read.`, { remedy: 'Do not delete rows of sched_locks while locks are in use.', retryable: true })
  }
}

function sqlOf(connection: LockConnection): SqlSession {
  if (connection.sql !== undefined) return connection.sql
  throw new SchedError('SCHED_CAPABILITY_MISSING', 'the lock connection is no SQL session, so a fencing token cannot be drawn on it.', { remedy: 'Leave out fencing: true, or use a lock table.' })
}

async function upsert(session: SqlSession, sql: SqlFragments, tables: Tables, key: string, request: LockRequest): Promise<SqlValue | undefined> {
  const { rows } = await session.run({
    text: `INSERT INTO ${tables.locks} AS held (lock_name, lock_owner, owner_label, acquired_at, expires_at, fencing_token) VALUES (?, NULL, ?, ${sql.nowMs}, 0, ${sql.nowMs}) ON CONFLICT (lock_name) DO UPDATE SET fencing_token = CASE WHEN held.fencing_token >= excluded.fencing_token THEN held.fencing_token + 1 ELSE excluded.fencing_token END, owner_label = excluded.owner_label, acquired_at = excluded.acquired_at RETURNING fencing_token`,
    params: [key, request.ownerLabel],
  })
  return rows[0]?.['fencing_token']
}

async function updateOrInsert(session: SqlSession, sql: SqlFragments, tables: Tables, key: string, request: LockRequest): Promise<SqlValue | undefined> {
  const { affected } = await session.run({
    text: `UPDATE ${tables.locks} SET fencing_token = CASE WHEN fencing_token >= ${sql.nowMs} THEN fencing_token + 1 ELSE ${sql.nowMs} END, owner_label = ?, acquired_at = ${sql.nowMs} WHERE lock_name = ?`,
    params: [request.ownerLabel, key],
  })
  // We hold the lock, so nobody inserts the row between the two statements.
  if (affected === 0) {
    await session.run({
      text: `INSERT INTO ${tables.locks} (lock_name, lock_owner, owner_label, acquired_at, expires_at, fencing_token) VALUES (?, NULL, ?, ${sql.nowMs}, 0, ${sql.nowMs})`,
      params: [key, request.ownerLabel],
    })
  }
  const { rows } = await session.run({ text: `SELECT fencing_token FROM ${tables.locks} WHERE lock_name = ?`, params: [key] })
  return rows[0]?.['fencing_token']
}
