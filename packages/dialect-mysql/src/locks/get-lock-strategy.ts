import type { HeldBy, LockOutcome, LockStrategy, ReleaseOutcome } from '@sched/core/spi'
import { errorNumber } from '../errors/classify.ts'
import { encodedName } from './encoded-name.ts'
import type { GetLockConnection } from './get-lock-connection.ts'
import { inspectHolder } from './inspect-holder.ts'
import { holderStatement, releaseStatement, sameSessionStatement, tryStatement, waitStatement } from './lock-statements.ts'

/** ER_QUERY_TIMEOUT: on MySQL, the end of a wait. */
const waitIsOver = 3024

/**
 * User-level locks. They end with the session or by RELEASE_LOCK, whatever transactions do in between, and stack: asking again on the
 * same session is granted again. The core never does, so one release always ends the lock.
 * Errors that reject here: 3058 (MySQL) and 1213 (MariaDB, part of a circle of waits; nothing is rolled back or released), 1317
 * (KILL QUERY on MySQL), and whatever ends a session.
 */
export const getLockStrategy: LockStrategy<GetLockConnection> = {
  async tryLock(connection, { name }): Promise<LockOutcome> {
    const { granted } = await connection.runHere(tryStatement(encodedName(name), connection.mark))
    return outcomeOf(granted)
  },

  async lock(connection, { name }, waitMs): Promise<LockOutcome> {
    const key = encodedName(name)
    try {
      const { granted } = await connection.runHere(waitStatement(connection.vendor, key, connection.mark, waitMs))
      return outcomeOf(granted)
    } catch (error) {
      if (connection.vendor !== 'mysql' || errorNumber(error) !== waitIsOver) throw error
    }
    // The limit may pass while the lock is being granted: then the session holds it all the same.
    return { status: await heldBy(connection, key) === 'mine' ? 'granted' : 'refused' }
  },

  async release(connection, { name }): Promise<ReleaseOutcome> {
    const { released } = await connection.runHere(releaseStatement(encodedName(name), connection.mark))
    return { status: released === 1 ? 'released' : 'not-held' }
  },

  /** One statement, however many locks: they live as long as the session, and it is this one. Activity restarts its idle limit. */
  async refresh(connection) {
    await connection.runHere(sameSessionStatement(connection.mark))
    return { lost: [] }
  },

  isHeld: (connection, { name }): Promise<HeldBy> => heldBy(connection, encodedName(name)),

  inspect: (connection, name) => inspectHolder(connection.sql, encodedName(name)),
}

function outcomeOf(granted: unknown): LockOutcome {
  if (granted === null) return { status: 'indeterminate', reason: 'GET_LOCK answered NULL: the wait was interrupted, or the server ran out of memory' }
  return { status: granted === 1 ? 'granted' : 'refused' }
}

async function heldBy(connection: GetLockConnection, key: string): Promise<HeldBy> {
  const { holder, me } = await connection.runHere(holderStatement(key, connection.mark))
  if (holder === null) return 'free'
  return holder === me ? 'mine' : 'other'
}
