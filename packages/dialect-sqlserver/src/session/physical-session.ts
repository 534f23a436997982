import type { SqlResult, SqlRow, Statement } from '@sched/core/spi'
import type { TediousConnection, TediousDone, TediousDriver, TediousRequest } from '../connect/tedious-types.ts'
import { classifySqlServer, isServerError } from '../errors/classify.ts'
import { plainRow } from './row-values.ts'
import { bindStatement } from './statement.ts'

export interface SessionParts<TClient> {
  readonly driver: TediousDriver
  readonly connection: TediousConnection
  readonly client: TClient
  /** Closes the connection. Called once. */
  release(): void
}

/** A parameter of a procedure; text as nvarchar, numbers as int. */
export type ProcedureValue = string | number

/** What a procedure answered. A negative status often comes without an error, and an error with a status. */
export interface ProcedureAnswer {
  readonly status: number | undefined
  readonly error: Error | undefined
}

/**
 * One connection of the driver, alone on its server session until it ends. Its listeners stay for good: an 'error' event without a
 * listener would end the process.
 */
export class PhysicalSession<TClient = unknown> {
  readonly client: TClient
  readonly #parts: SessionParts<TClient>
  readonly #callbacks: ((cause: Error) => void)[] = []
  #ended = false
  #lost: Error | undefined

  constructor(parts: SessionParts<TClient>) {
    this.client = parts.client
    this.#parts = parts
    parts.connection.on('error', (error) => { this.lose(error) })
    parts.connection.on('end', () => { this.lose(new Error('the connection to the server ended')) })
  }

  /** True when nothing more can be asked on it. */
  get ended(): boolean { return this.#ended }

  /** One statement through sp_executesql. `limitMs`: when it passes the driver cancels it with an attention; 0 is no limit. */
  run(statement: Statement, limitMs: number): Promise<SqlResult> {
    const { text, values } = bindStatement(statement)
    const { TYPES } = this.#parts.driver
    return this.#answered(text, limitMs, (request) => {
      for (const { name, type, value, length } of values) request.addParameter(name, TYPES[type], value, length === undefined ? undefined : { length })
      this.#parts.connection.execSql(request as never)
    })
  }

  /** Statements without parameters as one batch: what they SET stays set. */
  batch(text: string, limitMs: number): Promise<SqlResult> {
    return this.#answered(text, limitMs, (request) => { this.#parts.connection.execSqlBatch(request as never) })
  }

  /** A stored procedure. An error of the server is part of the answer, any other rejects. */
  async call(procedure: string, values: Readonly<Record<string, ProcedureValue>>, limitMs: number): Promise<ProcedureAnswer> {
    const { TYPES } = this.#parts.driver
    let status: number | undefined
    try {
      await this.#answered(procedure, limitMs, (request) => {
        request.on('doneProc', (_rowCount, _more, returned) => { if (typeof returned === 'number') status = returned })
        for (const [name, value] of Object.entries(values)) {
          if (typeof value === 'number') request.addParameter(name, TYPES.Int, value)
          else request.addParameter(name, TYPES.NVarChar, value, { length: 255 })
        }
        this.#parts.connection.callProcedure(request as never)
      })
      return { status, error: undefined }
    } catch (error) {
      if (!isServerError(error)) throw error
      return { status, error }
    }
  }

  /** `isolation`: READ COMMITTED, or what the connection was made with. */
  begin(isolation: 'read-committed' | 'as-configured'): Promise<void> {
    const { READ_COMMITTED } = this.#parts.driver.ISOLATION_LEVEL
    return this.#done((done) => {
      if (isolation === 'read-committed') this.#parts.connection.beginTransaction(done, '', READ_COMMITTED)
      else this.#parts.connection.beginTransaction(done)
    })
  }

  commit(): Promise<void> { return this.#done((done) => { this.#parts.connection.commitTransaction(done) }) }

  rollback(): Promise<void> { return this.#done((done) => { this.#parts.connection.rollbackTransaction(done) }) }

  /** Ends it because it is gone, or not the session it was. Only the first cause counts; none after `destroy`. */
  lose(cause: Error): void {
    if (this.#ended) return
    this.#lost = cause
    this.destroy()
    for (const callback of this.#callbacks.splice(0)) callback(cause)
  }

  destroy(): void {
    if (this.#ended) return
    this.#ended = true
    this.#parts.release()
  }

  /** Calls back at once when it is lost already: between opening and this call the loop may have turned. */
  onLost(callback: (cause: Error) => void): void {
    if (this.#lost === undefined) this.#callbacks.push(callback)
    else callback(this.#lost)
  }

  /** Rows of the last result, and the count of the last statement that has one. */
  async #answered(text: string, limitMs: number, send: (request: TediousRequest) => void): Promise<SqlResult> {
    let rows: SqlRow[] = []
    let selected = false
    let affected = 0
    const counted = (rowCount: number | undefined): void => {
      if (rowCount !== undefined && !selected) affected = rowCount
      selected = false
    }
    let unreadable: Error | undefined
    await this.#done((done) => {
      const request = new this.#parts.driver.Request(text, done)
      request.setTimeout(limitMs)
      request.on('columnMetadata', () => {
        rows = []
        affected = 0
        selected = true
      })
      request.on('row', (columns) => {
        // Thrown inside the driver's parser it would end the process.
        try { rows.push(plainRow(columns)) } catch (error) { unreadable ??= error as Error }
      })
      request.on('doneInProc', counted)
      request.on('done', counted)
      send(request)
    })
    if (unreadable !== undefined) throw unreadable
    return { rows, affected }
  }

  async #done(send: (done: TediousDone) => void): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => {
        send((error) => {
          if (error === undefined || error === null) resolve()
          else reject(error)
        })
      })
    } catch (error) {
      if (error instanceof Error && classifySqlServer(error) === 'connection-lost') this.lose(error)
      throw error
    }
  }
}
