import type { HeldBy, LockHolder, LockName, LockOutcome, LockStrategy, ReleaseOutcome, SqlRow } from '@sched/core/spi'
import { sqlState } from '../errors/classify.ts'
import type { AdvisoryConnection } from './advisory-connection.ts'
import { lockKey, type LockKey } from './lock-key.ts'
import { heldStatement, holderStatement, sameSessionStatement, tryStatement, unlockStatement, waitBatch } from './lock-statements.ts'

/**
 * Session-level advisory locks. They end with the session or by unlock, whatever transactions do in between, and stack: asking again
 * on the same session is granted again. The core never does, so one unlock always ends the lock.
 * Errors that reject here: 53200 (the server's lock memory is full), 40P01 (part of a deadlock), and whatever ends a session.
 */
export const advisoryStrategy: LockStrategy<AdvisoryConnection> = {
  async tryLock(connection, { name }): Promise<LockOutcome> {
    const { granted } = await connection.runHere(tryStatement(lockKey(name), connection.mark))
    return { status: granted === 1 ? 'granted' : 'refused' }
  },

  async lock(connection, { name }, waitMs): Promise<LockOutcome> {
    const key = lockKey(name)
    try {
      await connection.runBatchHere(waitBatch(key, connection.mark, waitMs))
      return { status: 'granted' }
    } catch (error) {
      if (sqlState(error) !== '55P03') throw error
    }
    // The limit may pass while the lock is being granted: the answer is 55P03, and the session holds it all the same.
    // https://www.postgresql.org/message-id/63573.1668271677@sss.pgh.pa.us
    return { status: await heldBy(connection, key) === 'mine' ? 'granted' : 'refused' }
  },

  async release(connection, { name }): Promise<ReleaseOutcome> {
    const key = lockKey(name)
    const { released } = await connection.runHere(unlockStatement(key, connection.mark))
    if (released === 1) return { status: 'released' }
    if (await heldBy(connection, key) !== 'mine') return { status: 'not-held' }
    return { status: 'indeterminate', reason: 'pg_advisory_unlock answered false, yet pg_locks shows the lock on this session' }
  },

  /** One statement, however many locks: they live as long as the session, and it is this one. Activity restarts its idle limit. */
  async refresh(connection) {
    await connection.runHere(sameSessionStatement(connection.mark))
    return { lost: [] }
  },

  isHeld: (connection, { name }): Promise<HeldBy> => heldBy(connection, lockKey(name)),

  async inspect(connection, name: LockName): Promise<LockHolder | null> {
    const { rows: [row] } = await connection.sql.run(holderStatement(lockKey(name)))
    return row === undefined ? null : holderOf(row)
  },
}

async function heldBy(connection: AdvisoryConnection, key: LockKey): Promise<HeldBy> {
  const { held } = await connection.runHere(heldStatement(key, connection.mark))
  if (held === 2) return 'mine'
  return held === 1 ? 'other' : 'free'
}

/** Absent where the server would not tell, or the session ended between the two views. */
function holderOf(row: SqlRow): LockHolder {
  const text = (column: string): string | undefined => {
    const value = row[column]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  const host = text('client_hostname') ?? text('address')
  const user = text('usename')
  const ownerLabel = text('application_name')
  return {
    ...(typeof row['pid'] === 'number' ? { sessionId: row['pid'] } : {}),
    ...(ownerLabel === undefined ? {} : { ownerLabel }),
    ...(host === undefined ? {} : { host }),
    ...(user === undefined ? {} : { user }),
    ...(row['hidden'] === 1 && user !== undefined ? { notPermitted: `the host of another role's session: GRANT pg_read_all_stats TO ${String(row['me'])}` } : {}),
  }
}
