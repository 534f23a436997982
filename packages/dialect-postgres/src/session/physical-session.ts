import type { SqlResult, Statement } from '@sched/core/spi'
import { classifyPostgres } from '../errors/classify.ts'
import type { PgClient, PgInternals, PgQuery, PgStream } from '../connect/pg-client.ts'
import { commandTag, plainResult, plainTypes } from './row-values.ts'
import { bindStatement } from './statement.ts'

/**
 * One client of the driver, alone on its server session until it ends. Its listeners stay for good: a FATAL error gives two 'error'
 * events (the coded one, then "Connection terminated unexpectedly"), and an event without a listener would end the process.
 */
export class PhysicalSession<TClient extends PgClient = PgClient> {
  readonly client: TClient
  readonly #release: () => void
  readonly #callbacks: ((cause: Error) => void)[] = []
  #ended = false
  #lost: Error | undefined

  /** `release` closes the client; it is called once. */
  constructor(client: TClient, release: () => void) {
    this.client = client
    this.#release = release
    client.on('error', (error) => { this.lose(error) })
    client.on('end', () => { this.lose(new Error('the connection to the server ended')) })
  }

  /** Called when connected: with TLS the stream is another one than before. Some failures reach the stream only. */
  watchStream(): void {
    streamOf(this.client)?.once?.('close', () => { this.lose(new Error('the connection to the server was closed')) })
  }

  async run(statement: Statement): Promise<SqlResult> {
    const { text, values } = bindStatement(statement)
    return plainResult(await this.#send({ text, values, rowMode: 'array', types: plainTypes }))
  }

  /** Statements without parameters, several if need be, in one message. Answers the last one's result. */
  async runBatch(text: string): Promise<SqlResult> {
    return plainResult(await this.#send({ text, rowMode: 'array', types: plainTypes }))
  }

  /** One statement without parameters; answers what the server says it did. */
  async command(text: string): Promise<string> {
    return commandTag(await this.#send({ text, rowMode: 'array', types: plainTypes }))
  }

  async #send(query: PgQuery): Promise<unknown> {
    try {
      return await this.client.query(query)
    } catch (error) {
      if (error instanceof Error && classifyPostgres(error) === 'connection-lost') this.lose(error)
      throw error
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
  }

  /** Calls back at once when it is lost already: between opening and this call the loop may have turned. */
  onLost(callback: (cause: Error) => void): void {
    if (this.#lost === undefined) this.#callbacks.push(callback)
    else callback(this.#lost)
  }
}

/**
 * Closes a client without waiting: a polite goodbye if the socket takes it, then the socket itself, since a peer that is frozen or
 * cut off would never answer and the half-closed socket would keep the process alive.
 */
export function endClient(client: PgClient): void {
  // The promise settles when the socket is closed. A rejection has nothing to tell: the socket is destroyed in the next line.
  client.end().catch(() => {})
  streamOf(client)?.destroy?.()
}

function streamOf(client: PgClient): PgStream | undefined {
  return (client as PgInternals).connection?.stream
}
