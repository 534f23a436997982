import { SchedError, type SqlSession } from '@sched/core/spi'
import { errorNumber } from '../errors/classify.ts'
import type { PhysicalSession } from './physical-session.ts'
import { ping } from './sql-session.ts'

const savepoint = 'sched_transaction'
// ER_SP_DOES_NOT_EXIST: SAVEPOINT sched_transaction does not exist
const noSuchSavepoint = 1305

/**
 * A session whose transaction user code shares. A deadlock or a lock wait (innodb_rollback_on_timeout) ends the transaction, DDL
 * commits it, and what comes next commits itself: user code that goes on after such an error would have our last statements succeed
 * without its own. A savepoint ends with its transaction, so it tells whether this is still the one that was begun.
 * https://dev.mysql.com/doc/refman/9.7/en/savepoint.html, https://dev.mysql.com/doc/refman/9.7/en/implicit-commit.html
 */
export function lentSession<TClient>(session: PhysicalSession, id: number | undefined): SqlSession<TClient> {
  let unverified = false
  const verify = async (): Promise<void> => {
    if (!unverified) return
    try {
      await session.command(`RELEASE SAVEPOINT ${savepoint}`)
    } catch (error) {
      if (errorNumber(error) === noSuchSavepoint) throw transactionGone()
      throw error
    }
    unverified = false
  }
  return {
    client: session.client as TClient,
    ...(id === undefined ? {} : { id }),
    async begin() {
      await session.command('START TRANSACTION')
      await session.command(`SAVEPOINT ${savepoint}`)
      unverified = true
    },
    async run(statement) {
      await verify()
      return session.run(statement)
    },
    async commit() {
      await verify()
      await session.command('COMMIT')
    },
    async rollback() {
      unverified = false
      await session.command('ROLLBACK')
    },
    ping: () => ping(session),
    destroy: () => { session.destroy() },
    onLost: (callback) => { session.onLost(callback) },
  }
}

function transactionGone(): SchedError {
  return new SchedError('SCHED_CONTENDED', 'the transaction was over before it was committed: a deadlock rolled it back, or a statement in it commits by itself.', {
    details: { errorClass: 'serialization' }, remedy: 'Let errors of the database pass through `fn`, and keep DDL and COMMIT out of it.',
  })
}
