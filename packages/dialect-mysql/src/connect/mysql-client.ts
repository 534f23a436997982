/** One statement as `mysql2` takes it. https://sidorares.github.io/node-mysql2/docs/documentation/connection */
export interface MysqlQuery {
  readonly sql: string
  readonly rowsAsArray: true
  readonly namedPlaceholders: false
  readonly nestTables: false
  /** Reads one value. Given with each statement, so that the pool's own settings for numbers, dates and types do not matter. */
  typeCast(field: MysqlField): unknown
}

export interface MysqlField { buffer(): Uint8Array | null }

/** A column of an answer. */
export interface MysqlColumn {
  readonly name: string
  /** Number of the type in the protocol: https://dev.mysql.com/doc/dev/mysql-server/latest/field__types_8h.html */
  readonly columnType?: number | undefined
}

/** What a statement without rows answers. */
export interface MysqlHeader {
  readonly affectedRows: number
  /** https://dev.mysql.com/doc/dev/mysql-server/latest/mysql__com_8h.html#a1d854e841086925be1883e4d7b4e8cad */
  readonly serverStatus?: number
}

export type MysqlAnswer = (error: Error | null, result: unknown, columns: unknown) => void

/** The part of a connection of `mysql2` (callback API) that this package calls. */
export interface MysqlConnection {
  /** The id that the handshake gave. */
  readonly threadId: number | null
  query(query: MysqlQuery, answer: MysqlAnswer): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  destroy(): void
}

/** A connection of `mysql2/promise`: a wrapper around one of the callback API. */
export interface MysqlPromiseConnection {
  readonly connection: unknown
  /** What user code in `ctx.transaction` calls. Give `mysql` a type argument for the whole of the driver's type. */
  query(sql: string, values?: unknown): Promise<[unknown, unknown]>
  execute(sql: string, values?: never): Promise<[unknown, unknown]>
}

/** A pool of `mysql2`. */
export interface MysqlCallbackPool { getConnection(callback: (error: Error | null, connection: MysqlConnection) => unknown): unknown }

/** A pool of `mysql2/promise`. */
export interface MysqlPromisePool { getConnection(): Promise<MysqlPromiseConnection> }

export type MysqlPool = MysqlCallbackPool | MysqlPromisePool

/** What the driver does not document and not every version or fork has: used where it is there. */
export interface MysqlInternals {
  readonly stream?: MysqlStream
  /** COM_QUIT, on a pooled connection under another name than on others. */
  readonly _realEnd?: (this: MysqlInternals, callback: () => void) => unknown
  readonly end?: (this: MysqlInternals, callback: () => void) => unknown
}

export interface MysqlStream {
  once?(event: 'close', listener: () => void): unknown
  destroy?(): unknown
}

/** Where a pool says how many it lends; 0 is no limit. */
export interface MysqlPoolInternals {
  readonly config?: { readonly connectionLimit?: number }
  readonly pool?: { readonly config?: { readonly connectionLimit?: number } }
}
