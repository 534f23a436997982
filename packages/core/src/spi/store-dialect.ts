import type { ErrorClass } from './error-class.ts'
import type { OpenOptions } from './lock-source.ts'
import type { Probe } from './probe.ts'
import type { SqlSession, Statement } from './sql-session.ts'

/**
 * `pulse`: the heartbeat. `store`: slots, starts, finishes, scans. Both: READ COMMITTED, every COMMIT durable when it returns,
 * row-lock wait at most `rowLockMs`, statements at most `statementMs`.
 * `transaction`: lent to the user's code; isolation and limits are the user's, only the server's idle-in-transaction limit is ours
 * (`leaseMs`), so that a frozen process cannot hold its rows for ever.
 */
export type SessionPurpose = 'pulse' | 'store' | 'transaction'

export interface SessionOptions extends OpenOptions {
  readonly statementMs: number
  readonly rowLockMs: number
  /**
   * True behind a transaction pooler: nothing may be set on the session; `begin` sets the limits for its transaction
   * (SET LOCAL), and the core puts every statement inside one.
   */
  readonly sharedSessions: boolean
}

/** Column types and the like. All keys compare by code point: 'a', 'A' and 'a ' are three values. */
export interface SqlTypes {
  /** Epoch milliseconds, tokens, counters up to 2^53. */
  readonly integer: string
  /** A key of at most `length` ASCII characters, case-sensitive. */
  ascii(length: number): string
  /** A key of at most `length` Unicode characters, case-sensitive, no padding rules. */
  name(length: number): string
  /** Text of at most 4,000 characters. */
  readonly text: string
  /** Text of any length. */
  readonly longText: string
}

export interface SqlFragments {
  /** The server's clock as epoch milliseconds in UTC, not passing through a session time zone. */
  readonly nowMs: string
  /** What follows a SELECT without a table: '' or ' FROM DUAL'. */
  readonly dual: string
  /** Appended to a SELECT with an ORDER BY to keep its first rows: ' LIMIT 5' or ' FETCH FIRST 5 ROWS ONLY'. */
  limit(rows: number): string
  /** Appended to a SELECT to lock its rows: ' FOR UPDATE', or '' where a writer locks the whole database. */
  readonly lockRow: string
  /** Put behind the table's name of a SELECT that locks its rows, where the product has no suffix for it (SQL Server). Default ''. */
  readonly lockHint?: string
  /** Put behind a table's name where a plain SELECT would wait for writers (SQL Server), else ''. */
  readonly readHint: string
  /** A literal identifier. The core has checked it: `[a-z0-9_]`, at most 30 characters. */
  quote(identifier: string): string
  readonly types: SqlTypes
  /** True when `INSERT … ON CONFLICT (…) DO UPDATE … WHERE … RETURNING …` is one atomic statement here. */
  readonly supportsOnConflict: boolean
  /** The whole statement. Tolerant where the product can (IF NOT EXISTS); `already-exists` is tolerated by the core. */
  createTable(table: string, body: string): string
  createIndex(index: string, table: string, columns: string): string
}

/** Quoted, schema-qualified names of the tables. */
export interface Tables {
  readonly tasks: string
  readonly executions: string
  readonly nodes: string
  readonly meta: string
  readonly locks: string
}

/** Statement N of the execution protocol: claims a fire time. */
export interface SlotInsert {
  readonly namespace: string
  readonly executionId: string
  readonly taskName: string
  readonly definitionHash: string
  /** Epoch milliseconds. A key, not a clock reading. */
  readonly fireTime: number
  readonly dueAt: number
  /** A slot older than this by the database's clock is refused. */
  readonly maxClaimAgeMs: number
  /** A slot this far in the future by the database's clock is refused. */
  readonly toleranceMs: number
}

/** Statements a dialect may replace by name, in one round trip where its database can. */
export interface StatementOverrides {
  /**
   * Must insert under the same guards as the portable statement and always answer one row: `won` (1 or 0), `eligible` (1 or 0: did
   * the guards hold) and `db_now`. Losing must not be an error, on the server's log either.
   */
  slot?(tables: Tables, slot: SlotInsert): Statement
}

/** Where the ledger lives. `TClient` is the driver's client that `ctx.transaction` hands to the user. */
export interface StoreDialect<TClient = unknown> {
  readonly sql: SqlFragments
  readonly overrides?: StatementOverrides
  /**
   * The longest a `ctx.transaction` may stay open as a share of the lease, where an open transaction stops every other writer
   * (SQLite: 1/3). Undefined: no budget of ours.
   */
  readonly transactionBudget?: number
  probe(options: OpenOptions): Promise<Probe>
  /** Always a physical session of its own, never one that goes back to a pool. */
  open(purpose: SessionPurpose, options: SessionOptions): Promise<SqlSession<TClient>>
  classify(error: unknown): ErrorClass
}
