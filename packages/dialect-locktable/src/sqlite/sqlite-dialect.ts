import type { DatabaseSync } from 'node:sqlite'
import type { Dialect } from '@sched/core/spi'
import { lockTableDiagnostics } from '../lock-table-diagnostics.ts'
import { lockTableSource } from '../lock-table-source.ts'
import { databaseFile } from './database-file.ts'
import { sqliteStore } from './sqlite-store.ts'

export interface SqliteOptions {
  /** Path of the database file, shared by all instances on this host. Made when it is not there; its directory must be. */
  readonly file: string
}

/**
 * The embedded dialect: ledger and locks in one SQLite file, through `node:sqlite`. Nothing to install.
 * @throws SchedError SCHED_OPTION_INVALID
 */
export function sqlite(options: SqliteOptions): Dialect<DatabaseSync> {
  const store = sqliteStore(databaseFile(options.file))
  return {
    spiVersion: 1,
    name: 'sqlite',
    // One host, one clock: https://www.sqlite.org/wal.html
    locks: lockTableSource({ store, diagnostics: lockTableDiagnostics(store), scope: 'host', clockUncertaintyMs: 0 }),
    store,
    close: async () => {}, // handles belong to whom they were opened for
  }
}
