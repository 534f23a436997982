import { SchedError, type LockConnection, type OpenOptions, type SqlSession, type StoreDialect } from '@sched/core/spi'

/** A store session that locks travel through: the locks themselves are rows, and outlive it. */
export interface LockTableConnection extends LockConnection {
  readonly sql: SqlSession
  /** The lock table, quoted. */
  readonly table: string
  /** What it was opened with, for diagnostics on a connection of the inner dialect. */
  readonly options: OpenOptions
}

/** Opens a session of its own, never one that works in the caller's transaction: an acquire that is not committed stops all others. */
export async function openLockTable(store: StoreDialect, options: OpenOptions): Promise<LockTableConnection> {
  const { leaseMs, tables, sharedSessions = false } = options
  if (tables === undefined) {
    throw new SchedError('SCHED_OPTION_INVALID', 'a lock table was opened without its name: OpenOptions.tables is missing.')
  }
  const sql = await store.open('store', {
    ...options,
    sharedSessions,
    // A refresh must have failed while there is time for another before the lease ends, a wait for a row before the statement does.
    statementMs: Math.min(5_000, Math.floor(leaseMs / 4)),
    rowLockMs: Math.min(1_000, Math.floor(leaseMs / 8)),
  })
  return {
    sql, options, table: tables.locks,
    ...(sql.id === undefined ? {} : { id: sql.id }),
    ...(sql.onLost === undefined ? {} : { onLost: (callback: (cause: Error) => void): void => sql.onLost?.(callback) }),
    ping: () => sql.ping(),
    destroy: () => sql.destroy(),
  }
}

/**
 * Runs `work` on the session as it is, each statement committing itself; behind a transaction pooler in a transaction, whose
 * statements alone are sure to run on one server session.
 */
export async function onSession<T>({ sql, options }: LockTableConnection, work: (sql: SqlSession) => Promise<T>): Promise<T> {
  if (options.sharedSessions !== true) return work(sql)
  await sql.begin()
  let result: T
  try {
    result = await work(sql)
  } catch (error) {
    await rollBack(sql, error)
    throw error
  }
  await sql.commit()
  return result
}

async function rollBack(sql: SqlSession, cause: unknown): Promise<void> {
  try {
    await sql.rollback()
  } catch (error) {
    // No class fits two errors, so the core destroys the session.
    throw new AggregateError([cause, error], 'a statement on the lock table failed, and so did the rollback', { cause: error })
  }
}
