// The part of `oracledb` that this package calls, as structural types: https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html

/** A bind as `execute` takes it: https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html#executebindParams */
export interface OracleBind {
  readonly dir?: number
  readonly type?: unknown
  readonly maxSize?: number
  readonly val?: string | number | null
}

export type OracleBinds = Readonly<Record<string, OracleBind | string | number | null>>

/** What `fetchTypeHandler` is told of a column. */
export interface OracleColumn { readonly name: string; readonly dbTypeName?: string }

export interface OracleExecuteOptions {
  readonly autoCommit: boolean
  /** Rows as arrays, whatever the process-wide default is. */
  readonly outFormat: number
  readonly fetchTypeHandler: (column: OracleColumn) => { readonly type?: unknown; readonly converter?: (value: unknown) => unknown } | undefined
}

export interface OracleResult {
  readonly rows?: readonly (readonly unknown[])[] | undefined
  readonly metaData?: readonly OracleColumn[] | undefined
  readonly rowsAffected?: number | undefined
  readonly outBinds?: Readonly<Record<string, unknown>> | undefined
}

/** The part of a `Connection` that this package calls. */
export interface OracleConnection {
  /** What user code in `ctx.transaction` calls. Give `oracle` a type argument for the whole of the driver's type. */
  execute(text: string, binds: OracleBinds, options: object): Promise<object>
  commit(): Promise<void>
  rollback(): Promise<void>
  ping(): Promise<void>
  /** With `drop` a pooled connection is ended instead of going back. */
  close(options?: { readonly drop: boolean }): Promise<void>
  /** Milliseconds for one round trip, 0 for no limit. */
  callTimeout?: number | undefined
  readonly oracleServerVersionString?: string | undefined
}

/** The part of a `Pool` that this package calls. */
export interface OraclePool<TClient extends OracleConnection = OracleConnection> {
  getConnection(): Promise<TClient>
  readonly poolMax?: number
  readonly connectString?: string | undefined
}

/** What the thin driver does not document: used where it is there. */
export interface OracleInternals {
  readonly _impl?: { readonly nscon?: { readonly ntAdapter?: { readonly stream?: OracleStream | null } | null; forceDisconnect?(): void } | null }
  /** False in thick mode. */
  readonly thin?: boolean
  breakExecution?(): Promise<void>
}

export interface OracleStream {
  once?(event: 'close' | 'end', listener: () => void): unknown
  destroy?(): unknown
}
