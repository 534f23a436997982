import type { SqlResult, Statement } from '@sched/core/spi'
import { classifyMysql } from '../errors/classify.ts'
import { rememberVendor, type Vendor } from '../errors/vendor.ts'
import type { MysqlConnection, MysqlInternals } from '../connect/mysql-client.ts'
import { bindStatement } from './literal.ts'
import { asBytes, plainResult } from './row-values.ts'

interface Answer { readonly result: unknown; readonly columns: unknown }

/**
 * One connection of the driver, alone on its server session until it ends. Its listeners stay for good: an 'error' event without a
 * listener would end the process. How a session ends differs: MySQL sends 4031 before it closes an idle one, MariaDB just closes
 * (ECONNRESET), and a command under way swallows the event of the connection [tried].
 */
export class PhysicalSession {
  /** The connection as the user knows it. */
  readonly client: unknown
  readonly #connection: MysqlConnection
  readonly #release: () => void
  readonly #callbacks: ((cause: Error) => void)[] = []
  readonly #waiting = new Set<(reason: Error) => void>()
  #vendor: Vendor | undefined
  #ended = false
  #lost: Error | undefined

  /** `release` closes the connection; it is called once. */
  constructor(connection: MysqlConnection, client: unknown, release: () => void) {
    this.#connection = connection
    this.client = client
    this.#release = release
    connection.on('error', (error) => { this.lose(rememberVendor(error, this.#vendor)) })
    connection.on('end', () => { this.lose(new ConnectionEnded('the connection to the server ended')) })
  }

  /** As soon as it is known: error numbers mean different things to MySQL and MariaDB. */
  set vendor(vendor: Vendor) { this.#vendor = vendor }

  /** The id of the session in the handshake: another than the server's own where a proxy has answered. */
  get threadId(): number | null { return this.#connection.threadId }

  /** Called when connected: with TLS the stream is another one than before. Some failures reach the stream only. */
  watchStream(): void {
    (this.#connection as MysqlInternals).stream?.once?.('close', () => { this.lose(new ConnectionEnded('the connection to the server was closed')) })
  }

  async run(statement: Statement): Promise<SqlResult> {
    const { result, columns } = await this.#send(bindStatement(statement))
    return plainResult(result, columns)
  }

  /** One statement without values; answers as the driver does. */
  async command(text: string): Promise<unknown> {
    return (await this.#send(text)).result
  }

  async #send(sql: string): Promise<Answer> {
    if (this.#ended) throw new ConnectionEnded('the session has ended')
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    // A connection that is destroyed never answers what it was asked: the driver forgets the command.
    this.#waiting.add(reject)
    try {
      this.#connection.query({ sql, rowsAsArray: true, namedPlaceholders: false, nestTables: false, typeCast: asBytes }, (error, result, columns) => {
        if (error === null || error === undefined) resolve({ result, columns })
        else reject(error)
      })
      return await promise
    } catch (error) {
      if (error instanceof Error) {
        rememberVendor(error, this.#vendor)
        if (classifyMysql(error) === 'connection-lost') this.lose(error)
      }
      throw error
    } finally {
      this.#waiting.delete(reject)
    }
  }

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
    this.#release()
    const reason = this.#lost ?? new ConnectionEnded('the session was destroyed')
    for (const reject of [...this.#waiting]) reject(reason)
  }

  /** Calls back at once when it is lost already: between opening and this call the loop may have turned. */
  onLost(callback: (cause: Error) => void): void {
    if (this.#lost === undefined) this.#callbacks.push(callback)
    else callback(this.#lost)
  }
}

/** Class `connection-lost`, where the driver has no error of its own. */
export class ConnectionEnded extends Error {
  override readonly name: string = 'ConnectionEnded'
  readonly code: string = 'PROTOCOL_CONNECTION_LOST'
}

/**
 * Closes a connection without waiting: COM_QUIT if the socket takes it (else the server counts and logs an aborted client), then the
 * socket itself, since a peer that is frozen or cut off would never answer and the half-closed socket would keep the process alive.
 * `destroy` makes a pool count it out.
 */
export function endConnection(connection: MysqlConnection): void {
  const internals = connection as MysqlInternals
  const quit = internals._realEnd ?? internals.end
  quit?.call(internals, () => {}) // the answer is the end of the connection
  connection.destroy()
  internals.stream?.destroy?.()
}
