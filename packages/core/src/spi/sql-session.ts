/** A value a statement may carry. Never a Date, a boolean, a Buffer, a bigint or an empty string (Oracle stores '' as NULL). */
export type SqlValue = string | number | null

/** A statement with `?` marks; the dialect turns them into what its driver wants. No `?` occurs in the text otherwise. */
export interface Statement { readonly text: string; readonly params: readonly SqlValue[] }

/** A row: lower-case keys; integers as safe JavaScript numbers, whatever the driver delivers. */
export type SqlRow = Readonly<Record<string, SqlValue>>

export interface SqlResult {
  readonly rows: readonly SqlRow[]
  /** Rows the statement's WHERE clause matched and changed. 0 for a SELECT is allowed. */
  readonly affected: number
}

/**
 * One physical server session. The core owns it exclusively: one call at a time, never returned to a pool, destroyed on doubt.
 * Methods reject with the driver's own error; the core asks `classify`. They start no timer and retry nothing.
 */
export interface SqlSession<TClient = unknown> {
  /** The driver's client, handed to the user's code in `ctx.transaction`. */
  readonly client: TClient
  /** The server-side id of the session where the product has one. */
  readonly id?: string | number
  run(statement: Statement): Promise<SqlResult>
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
  /** A round trip that proves the session alive. */
  ping(): Promise<void>
  /** Ends the physical session at once, whatever it is doing. Idempotent, never throws, leaves no unhandled 'error' event. */
  destroy(): void
  /** Called at most once, when the session ends without `destroy` (query rejection, 'error', 'end', stream 'close'). */
  onLost?(callback: (cause: Error) => void): void
}
