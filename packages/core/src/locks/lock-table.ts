import { SchedError } from '../errors.ts'
import { lockTableStatement } from '../ledger/schema.ts'
import { errorClassOf } from '../session/classified-error.ts'
import type { GuardedSession } from '../session/guarded-session.ts'
import { retryTransient } from '../session/retry-transient.ts'
import { transient, type ErrorClass } from '../spi/error-class.ts'
import type { SqlSession } from '../spi/sql-session.ts'
import type { SqlFragments, Tables } from '../spi/store-dialect.ts'
import type { Clock } from '../time/clock.ts'

export interface LockTableOptions {
  sql: SqlFragments
  tables: Tables
  /** False: the table must be there. */
  migrate: boolean
  /** True behind a transaction pooler: each statement in a transaction of its own. */
  sharedSessions: boolean
  deadlineMs: number
  clock: Clock
  random: () => number
  signal?: AbortSignal | undefined
}

/** What a CREATE meets when others create the same table at the same moment, whatever IF NOT EXISTS says; and a table that is locked. */
const passing: ReadonlySet<ErrorClass> = new Set<ErrorClass>(['already-exists', 'duplicate-key', ...transient])

/**
 * Sees to it that `sched_locks` exists. Looks first, so that an account without the right to create tables can work; any number of
 * processes may do it at once.
 * @throws SchedError SCHED_SCHEMA_MISSING with the DDL when it may not create; SCHED_PERMISSION with the DDL when it cannot
 */
export async function ensureLockTable(session: GuardedSession<SqlSession>, options: LockTableOptions): Promise<void> {
  const { sql, tables, clock, random, deadlineMs, signal } = options
  const ddl = lockTableStatement(sql, tables)
  const run = (what: string, text: string): Promise<unknown> => session.exclusive(what, async (raw) => {
    if (!options.sharedSessions) return raw.run({ text, params: [] })
    await raw.begin()
    try {
      const result = await raw.run({ text, params: [] })
      await raw.commit()
      return result
    } catch (error) {
      await raw.rollback()
      throw error
    }
  }, { deadlineMs, signal })

  const ensure = async (): Promise<void> => {
    try {
      await run('looking for the lock table', `SELECT lock_name FROM ${tables.locks} WHERE 1 = 0`)
      return
    } catch (error) {
      if (errorClassOf(error) !== 'missing-table') throw error
    }
    if (!options.migrate) throw new SchedError('SCHED_SCHEMA_MISSING', `the table ${tables.locks} is not there, and migrate is false.`, { remedy: `Run: ${ddl}`, details: { ddl } })
    try {
      await run('creating the lock table', ddl)
    } catch (error) {
      if (errorClassOf(error) === 'permission') throw new SchedError('SCHED_PERMISSION', `the account may not create the table ${tables.locks}.`, { cause: error, remedy: `Let somebody who may run: ${ddl}`, details: { ddl } })
      throw error
    }
  }
  const worth = (error: unknown): boolean => {
    const errorClass = errorClassOf(error)
    return errorClass !== undefined && passing.has(errorClass)
  }
  await retryTransient(ensure, { clock, random, deadlineMs, signal, worth })
}
