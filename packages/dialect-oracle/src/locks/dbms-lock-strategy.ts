import { encodeLockName, type HeldBy, type LockHolding, type LockName, type LockOutcome, type LockStrategy, type ReleaseOutcome } from '@sched/core/spi'
import type { DbmsLockConnection } from './dbms-lock-connection.ts'
import { heldBlock, releaseBlock, sameSessionBlock, tryBlock, waitBlock, type LockCall } from './lock-blocks.ts'
import { inspectLock } from './lock-holder.ts'
import { outcomeOf, requestStatus, statusError } from './request-status.ts'

// DBMS_LOCK_ALLOCATED.NAME is VARCHAR2(128) and compared letter by letter. Encoded names begin with a digit, never with ORA$.
const longestName = 128

export const encoded = (name: LockName): string => encodeLockName(name, longestName)

/**
 * Locks of DBMS_LOCK in X mode with release_on_commit => FALSE: they end with the session or by RELEASE, whatever transactions do in
 * between. Not counted: one RELEASE frees them.
 */
export const dbmsLockStrategy: LockStrategy<DbmsLockConnection> = {
  async tryLock(connection, { name }): Promise<LockOutcome> {
    const call = callFor(connection, encoded(name))
    const { status, db_now: dbNow } = await connection.ask(tryBlock(call))
    return noted(connection, call, outcomeOf(status, call.lockName), dbNow)
  },

  /**
   * Whole seconds in the server's queue, the rest (all of a wait below a second) as tries twenty times a second inside the same block:
   * the wait is as long as it was asked for, in one round trip.
   */
  async lock(connection, { name }, waitMs): Promise<LockOutcome> {
    const call = callFor(connection, encoded(name))
    const { status, db_now: dbNow } = await connection.ask(waitBlock(call, waitMs), waitMs)
    return noted(connection, call, outcomeOf(status, call.lockName), dbNow)
  },

  async release(connection, { name }): Promise<ReleaseOutcome> {
    const call = callFor(connection, encoded(name))
    const { status } = await connection.ask(releaseBlock(call))
    if (status !== requestStatus.success && status !== requestStatus.own) throw statusError('RELEASE', status, call.lockName)
    connection.ages.forget(call.lockName)
    return { status: status === requestStatus.success ? 'released' : 'not-held' }
  },

  /**
   * One round trip, however many locks: they live as long as the session, and it is this one. Once a day by the database's clock
   * each name is allocated again, which keeps its number, and is asked about under it.
   */
  async refresh(connection, holdings) {
    const { db_now: dbNow } = await connection.ask(sameSessionBlock(connection.call.mark))
    const byName = new Map(holdings.map((holding): [string, LockHolding] => [encoded(holding.name), holding]))
    const lost: string[] = []
    for (const lockName of connection.ages.due([...byName.keys()], dbNow as number)) {
      const holding = byName.get(lockName)
      if (holding !== undefined && await heldBy(connection, lockName) !== 'mine') lost.push(holding.owner)
    }
    return { lost }
  },

  isHeld: (connection, { name }): Promise<HeldBy> => heldBy(connection, encoded(name)),

  inspect: (connection, name) => inspectLock(connection, callFor(connection, encoded(name))),
}

/** Allocates the name too, so that its mapping is young again. */
export async function heldBy(connection: DbmsLockConnection, lockName: string): Promise<HeldBy> {
  const { status, released, db_now: dbNow } = await connection.ask(heldBlock(callFor(connection, lockName)))
  if (status === requestStatus.own) {
    connection.ages.allocated(lockName, dbNow as number)
    return 'mine'
  }
  connection.ages.forget(lockName)
  if (status === requestStatus.timeout) return 'other'
  // It was free, so it was not ours any more. Taken by the question and given back: what stays behind would be held by nobody's leave.
  if (status !== requestStatus.success) throw statusError('REQUEST', status, lockName)
  if (released !== requestStatus.success) throw statusError('RELEASE', Number(released), lockName)
  return 'free'
}

function callFor({ call }: DbmsLockConnection, lockName: string): LockCall { return { ...call, lockName } }

function noted(connection: DbmsLockConnection, { lockName }: LockCall, outcome: LockOutcome, dbNow: unknown): LockOutcome {
  if (outcome.status === 'granted') connection.ages.allocated(lockName, dbNow as number)
  return outcome
}
