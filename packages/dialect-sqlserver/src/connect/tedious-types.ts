/** The part of tedious' `Request` that this package calls. https://tediousjs.github.io/tedious/api-request.html */
export interface TediousRequest {
  addParameter(name: string, type: unknown, value: unknown, options?: { readonly length?: number }): void
  on(event: 'columnMetadata', listener: (columns: TediousColumns<TediousColumn>) => void): unknown
  on(event: 'row', listener: (columns: TediousColumns<TediousCell>) => void): unknown
  on(event: 'doneInProc' | 'done', listener: (rowCount: number | undefined) => void): unknown
  on(event: 'doneProc', listener: (rowCount: number | undefined, more: boolean, returnStatus: unknown) => void): unknown
  /** Milliseconds; 0 is no limit. When they pass the driver sends an attention. */
  setTimeout(timeoutMs: number): void
}

export type TediousDone = (error?: Error | null) => void

/** An array, or an object by name where the user's `useColumnNames` is on. */
export type TediousColumns<T> = readonly T[] | Readonly<Record<string, T>>

export interface TediousColumn { readonly colName: string; readonly type: { readonly name: string } }

export interface TediousCell { readonly metadata: TediousColumn; readonly value: unknown }

/** What the server says beside its answer: ERROR and INFO tokens. */
export interface TediousMessage { readonly number: number; readonly message: string }

/** The part of tedious' `Connection` that this package calls. https://tediousjs.github.io/tedious/api-connection.html */
export interface TediousConnection {
  execSql(request: never): void
  execSqlBatch(request: never): void
  callProcedure(request: never): void
  beginTransaction(done: TediousDone, name?: string, isolationLevel?: number): void
  commitTransaction(done: TediousDone): void
  rollbackTransaction(done: TediousDone): void
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'errorMessage', listener: (message: TediousMessage) => void): unknown
  /** Destroys the socket; nothing is said to the server, which ends the session when it sees that. */
  close(): void
}

/** A connection that is not open yet. */
export interface TediousOwnedConnection extends TediousConnection {
  connect(done: TediousDone): void
}

/** What is needed of the module `tedious`. */
export interface TediousDriver {
  readonly Connection: new (config: object) => TediousOwnedConnection
  readonly Request: new (text: string, done: TediousDone) => TediousRequest
  readonly TYPES: Readonly<Record<'BigInt' | 'Float' | 'Int' | 'NVarChar', unknown>>
  readonly ISOLATION_LEVEL: Readonly<Record<'READ_COMMITTED', number>>
}

/** A pool of `mssql`, as its own types show it. `request()` borrows another connection each time and so can hold no lock. */
export interface MssqlPool { request(): unknown }

/**
 * What its types do not show: `acquire` lends one physical connection until `release`. mssql's own transactions are made of it.
 * https://github.com/tediousjs/node-mssql#advanced-pool-management
 */
export interface LendingPool extends MssqlPool {
  acquire(requester: object, answer: (error: Error | null, connection?: unknown, config?: unknown) => void): unknown
  release(connection: unknown): unknown
  readonly config?: unknown
}

/** What `ctx.transaction` hands over with `{ pool }`: requests on the one connection that the transaction is on. */
export interface LentPool<TPool extends MssqlPool = MssqlPool> {
  /** A request of `mssql`, bound to the connection of the transaction. */
  request(): ReturnType<TPool['request']>
  /** The connection of `tedious` itself. */
  readonly connection: TediousConnection
}
