import type { HeldBy, LockOutcome, LockStrategy, ReleaseOutcome } from '@sched/core/spi'
import type { ApplockConnection } from './applock-connection.ts'
import { acquireOutcome, isCancelled, releaseStatus } from './applock-codes.ts'
import { getApplock, getApplockValues, releaseApplock, releaseApplockValues } from './applock-statements.ts'
import { heldBy, holderOf } from './holder.ts'
import { lockResource } from './lock-resource.ts'
import { ping } from '../session/sql-session.ts'

/** The driver's limit is this much longer than the wait: when it passes, the server did not answer. */
const beyondWaitMs = 5_000

/**
 * Application locks of the session. They end with it or by a release with the same owner, whatever transactions do in between, and
 * count: asking again on the same session is granted again. The core never does, so one release always ends the lock.
 * Nothing cancels a wait here: an abort destroys the session, and the server ends it, wait, lock and all. Where the driver has
 * cancelled (its limit, and the attention was answered) the outcome is `indeterminate`, and the core asks APPLOCK_MODE.
 */
export const applockStrategy: LockStrategy<ApplockConnection> = {
  tryLock: (connection, { name }) => acquire(connection, lockResource(name), 0),

  lock: (connection, { name }, waitMs) => acquire(connection, lockResource(name), waitMs),

  async release(connection, { name }): Promise<ReleaseOutcome> {
    const resource = lockResource(name)
    const status = releaseStatus(await connection.session.call(releaseApplock, releaseApplockValues(resource), connection.limitMs))
    if (status !== 'doubt') return { status }
    // -999 without an error, as a peer says of a lock that is not held; or no code at all.
    if (await heldBy(connection, resource) !== 'mine') return { status: 'not-held' }
    return { status: 'indeterminate', reason: 'sp_releaseapplock answered no 0, yet APPLOCK_MODE says that this session holds the lock' }
  },

  /** One round trip, however many locks: they live as long as the session, and it is this one. */
  async refresh({ session, limitMs }) {
    await ping(session, limitMs)
    return { lost: [] }
  },

  isHeld: (connection, { name }): Promise<HeldBy> => heldBy(connection, lockResource(name)),

  inspect: (connection, name) => holderOf(connection, lockResource(name)),
}

async function acquire({ session, limitMs }: ApplockConnection, resource: string, waitMs: number): Promise<LockOutcome> {
  try {
    const answer = await session.call(getApplock, getApplockValues(resource, waitMs), waitMs === 0 ? limitMs : Math.ceil(waitMs) + beyondWaitMs)
    return acquireOutcome(answer, waitMs === 0 ? 'trying a lock' : 'waiting for a lock')
  } catch (error) {
    if (!isCancelled(error) || session.ended) throw error
    return { status: 'indeterminate', reason: 'the call was cancelled while the server worked on it' }
  }
}
