import type { DatabaseSync } from 'node:sqlite'
import type { OpenOptions, Probe, SqlSession, StoreDialect } from '@sched/core/spi'
import { openDatabase } from './open-database.ts'
import { classifySqlite } from './sqlite-errors.ts'
import { sqliteFragments } from './sqlite-fragments.ts'
import { probeFile } from './sqlite-probe.ts'
import { SqliteSession } from './sqlite-session.ts'

/** The ledger in an SQLite file. */
export function sqliteStore(file: string): StoreDialect<DatabaseSync> {
  return {
    sql: sqliteFragments,
    // An open write transaction stops every other writer, heartbeats included: it must end while their leases still hold.
    transactionBudget: 1 / 3,
    probe: (options: OpenOptions): Promise<Probe> => probeFile(file, options),
    // `statementMs` and `rowLockMs` have nothing to act on: a statement cannot be interrupted from the thread it blocks, and there
    // are no row locks. READ COMMITTED is less than SQLite gives.
    async open(_purpose, { signal }): Promise<SqlSession<DatabaseSync>> {
      signal.throwIfAborted()
      return new SqliteSession(openDatabase(file), file)
    },
    classify: classifySqlite,
  }
}
