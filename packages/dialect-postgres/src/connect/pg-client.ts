/** One statement as `pg` takes it. https://node-postgres.com/apis/client#clientquery */
export interface PgQuery {
  readonly text: string
  readonly values?: unknown[]
  readonly rowMode: 'array'
  readonly types: PgTypes
}

/** How the values of one statement are read; a type is named by its number in pg_type. */
export interface PgTypes {
  getTypeParser(oid: number, format?: string): (value: string) => unknown
}

export interface PgArrayResult {
  readonly command: string
  readonly rowCount: number | null
  readonly fields: readonly { readonly name: string }[]
  readonly rows: readonly (readonly unknown[])[]
}

/** The part of `pg.Client` that this package calls. */
export interface PgClient {
  /** What user code in `ctx.transaction` calls. Give `postgres` a type argument for the whole of the driver's type. */
  query<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>
  query(query: PgQuery): Promise<unknown>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  end(): Promise<void>
}

/** A client borrowed from a pool. Released with `true` it is closed instead of going back. */
export interface PgPoolClient extends PgClient {
  release(destroy?: Error | boolean): void
}

/** The part of `pg.Pool` that this package calls. */
export interface PgPool<TClient extends PgPoolClient = PgPoolClient> {
  connect(): Promise<TClient>
  readonly options?: { readonly max?: number | undefined }
}

/** The part of `pg.Client` that only an owner calls. */
export interface PgOwnedClient extends PgClient {
  connect(): Promise<unknown>
}

/** What the driver does not document and not every version or fork has: used where it is there. */
export interface PgInternals {
  readonly connection?: { readonly stream?: PgStream }
  /** True when the client was made with `binary: true`. */
  readonly binary?: boolean
}

export interface PgStream {
  once?(event: 'close', listener: () => void): unknown
  destroy?(): unknown
}
