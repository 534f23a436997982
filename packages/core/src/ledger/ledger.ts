import type { StoreSession } from '../session/store-session.ts'
import type { SqlFragments, StatementOverrides, Tables } from '../spi/store-dialect.ts'
import type { LockConnection } from '../spi/lock-source.ts'
import type { SqlSession } from '../spi/sql-session.ts'

/** What every statement of the execution protocol needs. */
export interface Ledger {
  readonly namespace: string
  readonly tables: Tables
  readonly sql: SqlFragments
  readonly overrides: StatementOverrides
  /** Slots, starts, finishes, sweeps, scans. */
  readonly store: StoreSession
}

/** The heartbeat's own session: a row-lock wait of the store must never delay it. */
export type PulseSession = StoreSession<LockConnection> | StoreSession<SqlSession>
