import { SchedError, type SqlResult, type SqlRow, type SqlValue, type Statement } from '@sched/core/spi'
import type { OracleDriver } from '../connect/driver.ts'
import type { OracleBind, OracleConnection, OracleResult } from '../connect/oracle-client.ts'
import { classifyOracle } from '../errors/classify.ts'
import { endClient, streamOf } from './end-client.ts'
import type { PlSqlBlock } from './plsql.ts'
import { boundValue, plainOptions, plainResult } from './row-values.ts'
import { bindStatement } from './statement.ts'

const longestText = 256

/**
 * One connection of the driver, alone on its server session until it ends. The driver has no events; in thin mode the socket tells
 * when the server has ended it, else the next call does.
 */
export class PhysicalSession<TClient extends OracleConnection = OracleConnection> {
  readonly client: TClient
  readonly #driver: OracleDriver
  readonly #forget: () => void
  readonly #takenOver: (() => Promise<void>) | undefined
  readonly #callbacks: ((cause: Error) => void)[] = []
  #calls = 0
  #ended = false
  #lost: Error | undefined

  /** `forget` is called once, when it ends. `closePooled` closes a connection of a pool, whose own `close` is not for user code. */
  constructor(client: TClient, driver: OracleDriver, forget: () => void, closePooled?: () => Promise<void>) {
    this.client = client
    this.#driver = driver
    this.#forget = forget
    this.#takenOver = closePooled
    streamOf(client)?.once?.('close', () => { this.lose(new Error('the connection to the server was closed')) })
  }

  run(statement: Statement, autoCommit: boolean): Promise<SqlResult> {
    const { text, binds } = bindStatement(statement)
    return this.#send(async () => plainResult(await this.client.execute(text, this.#bound(binds), plainOptions(this.#driver, autoCommit)) as OracleResult))
  }

  /** Runs an anonymous block and answers what it assigned. */
  call({ text, binds, out }: PlSqlBlock, autoCommit = false): Promise<SqlRow> {
    const assigned = Object.entries(out).map(([name, kind]): [string, OracleBind] => [name, {
      dir: this.#driver.BIND_OUT, ...(kind === 'number' ? { type: this.#driver.NUMBER } : { type: this.#driver.STRING, maxSize: longestText }),
    }])
    return this.#send(async () => {
      const all = { ...this.#bound(binds), ...Object.fromEntries(assigned) }
      const { outBinds = {} } = await this.client.execute(text, all, plainOptions(this.#driver, autoCommit)) as OracleResult
      return Object.fromEntries(Object.keys(out).map((name) => [name, (outBinds[name] ?? null) as SqlValue]))
    })
  }

  commit(): Promise<void> { return this.#send(() => this.client.commit()) }
  rollback(): Promise<void> { return this.#send(() => this.client.rollback()) }
  ping(): Promise<void> { return this.#send(() => this.client.ping()) }

  /**
   * The longest one round trip may take, 0 for ever. Then the driver tells the server to break off (NJS-123).
   * https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html#connection.callTimeout
   */
  limitCalls(limitMs: number): void {
    if (!this.#ended) this.client.callTimeout = Math.ceil(limitMs)
  }

  #bound(binds: Readonly<Record<string, SqlValue>>): Record<string, OracleBind | SqlValue> {
    return Object.fromEntries(Object.entries(binds).map(([name, value]) => [name, boundValue(value, this.#driver)]))
  }

  async #send<T>(work: () => Promise<T>): Promise<T> {
    if (this.#ended) throw new SchedError('SCHED_SESSION_LOST', 'the session to the database was closed.', { cause: this.#lost, details: { errorClass: 'connection-lost' } })
    this.#calls += 1
    try {
      return await work()
    } catch (error) {
      if (error instanceof Error && classifyOracle(error) === 'connection-lost') this.lose(error)
      throw error
    } finally {
      this.#calls -= 1
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
    this.#forget()
    endClient(this.client, this.#takenOver ?? (() => this.client.close()), { busy: this.#calls > 0, pooled: this.#takenOver !== undefined })
  }

  /** Calls back at once when it is lost already: between opening and this call the loop may have turned. */
  onLost(callback: (cause: Error) => void): void {
    if (this.#lost === undefined) this.#callbacks.push(callback)
    else callback(this.#lost)
  }
}
