import { EventEmitter } from 'node:events'
import type { OracleDriver } from '../../src/connect/driver.ts'
import type { OracleBind, OracleBinds, OracleColumn, OracleConnection, OracleExecuteOptions, OraclePool } from '../../src/connect/oracle-client.ts'
import { driverError, rewritten } from './driver-errors-stand-in.ts'
import type { OracleServerStandIn } from './server-stand-in.ts'
import type { SessionStandIn } from './session-stand-in.ts'
import type { ValueStandIn } from './tables-stand-in.ts'

// The surface of `oracledb` that this package calls, on a server stand-in. What the real driver does beyond it is tested at the wire.
// https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html, and the source of oracledb 26.0.0 (lib/connection.js, lib/thin)

const types = { STRING: { name: 'STRING' }, NUMBER: { name: 'NUMBER' }, CLOB: { name: 'CLOB' }, BIND_OUT: 3003, OUT_FORMAT_ARRAY: 4001 }

/** The module `oracledb`. */
export function driverStandIn(server: OracleServerStandIn): OracleDriver & { createPool(config: PoolConfig): PoolStandIn } {
  return {
    ...types,
    async getConnection(config) {
      const { user = '', password = '' } = config as { user?: string; password?: string }
      try { return new ConnectionStandIn(server.logOn(user, password)) } catch (error) { throw rewritten(error) }
    },
    createPool: (config) => new PoolStandIn(server, config),
  }
}

interface PoolConfig { readonly user: string; readonly password: string; readonly poolMax: number; readonly connectString?: string }

/**
 * A pool gives a returned session to the next borrower as it is, with its settings and its locks. Thin mode does not read `drop`
 * (lib/thin/connection.js, close; lib/thin/pool.js, release): only a connection whose socket is gone does not go back.
 */
export class PoolStandIn implements OraclePool {
  readonly poolMax: number
  readonly connectString: string | undefined
  readonly #server: OracleServerStandIn
  readonly #config: PoolConfig
  readonly #idle: SessionStandIn[] = []

  constructor(server: OracleServerStandIn, config: PoolConfig) {
    this.#server = server
    this.#config = config
    this.poolMax = config.poolMax
    this.connectString = config.connectString
  }

  get idle(): number { return this.#idle.length }

  async getConnection(): Promise<ConnectionStandIn> {
    const session = this.#idle.pop() ?? this.#server.logOn(this.#config.user, this.#config.password)
    return new ConnectionStandIn(session, (returned) => { this.#idle.push(returned) })
  }
}

/** One call at a time, `close` among them, as in the driver; `callTimeout` sends a break and is NJS-123 when the server has obeyed. */
export class ConnectionStandIn implements OracleConnection {
  callTimeout: number | undefined = 0
  readonly oracleServerVersionString: string
  readonly _impl: { nscon: { ntAdapter: { stream: EventEmitter & { destroy(): void } }; forceDisconnect(): void } }
  readonly session: SessionStandIn
  readonly #giveBack: ((session: SessionStandIn) => void) | undefined
  #tail: Promise<unknown> = Promise.resolve()
  #closed = false
  #cut = false

  constructor(session: SessionStandIn, giveBack?: (session: SessionStandIn) => void) {
    this.session = session
    this.#giveBack = giveBack
    this.oracleServerVersionString = session.version
    const stream = Object.assign(new EventEmitter(), { destroy: (): void => { this.#cutOff() } })
    this._impl = { nscon: { ntAdapter: { stream }, forceDisconnect: () => { this.#cutOff() } } }
    session.onEnd = () => { this.#cutOff() }
  }

  execute(text: string, binds: OracleBinds, options: OracleExecuteOptions): Promise<object> {
    return this.#serial(async () => {
      const given = new Map(Object.entries(binds).map(([name, bind]): [string, ValueStandIn] => [name, valueOf(bind)]))
      mustMatch(text, given)
      const { columns, rows, affected, binds: left } = await this.session.execute(text, given, options.autoCommit)
      const metaData = columns.map(({ name, type }): OracleColumn => ({ name, dbTypeName: type }))
      const converted = rows.map((row) => row.map((value, index) => {
        const handler = options.fetchTypeHandler(metaData[index] as OracleColumn)
        const fetched = handler?.type === types.STRING && value !== null ? String(value) : value
        return handler?.converter === undefined ? fetched : handler.converter(fetched)
      }))
      const outs = Object.entries(binds).filter(([, bind]) => isOut(bind)).map(([name, bind]) => [name, outValue(bind as OracleBind, left.get(name))])
      return { rows: converted, metaData, rowsAffected: affected, ...(outs.length === 0 ? {} : { outBinds: Object.fromEntries(outs) as object }) }
    })
  }

  commit(): Promise<void> { return this.#serial(() => this.session.commit()) }
  rollback(): Promise<void> { return this.#serial(() => this.session.rollback()) }
  ping(): Promise<void> { return this.#serial(() => this.session.ping()) }

  async breakExecution(): Promise<void> { this.session.break() }

  async close(): Promise<void> {
    const run = this.#tail.then(async () => {
      if (this.#closed) throw driverError('NJS-003', 'invalid or closed connection')
      this.#closed = true
      if (!this.#cut && this.session.inTransaction) await this.session.rollback()
      if (this.#cut || this.#giveBack === undefined) this.session.clientGone()
      else this.#giveBack(this.session)
    })
    this.#tail = run.catch(() => undefined)
    await run
  }

  #serial<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#tail.then(() => this.#limited(work))
    this.#tail = run.catch(() => undefined)
    return run
  }

  async #limited<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw driverError('NJS-003', 'invalid or closed connection')
    if (this.#cut) throw driverError('NJS-500', 'connection to Oracle Database was closed or broken')
    const limitMs = this.callTimeout ?? 0
    let expired = false
    const timer = limitMs > 0 ? setTimeout(() => { expired = true; this.session.break() }, limitMs) : undefined
    const { promise: cut, reject } = Promise.withResolvers<never>()
    const onCut = (): void => { reject(driverError('NJS-500', 'connection to Oracle Database was closed or broken')) }
    this._impl.nscon.ntAdapter.stream.once('close', onCut)
    try {
      return await Promise.race([work(), cut])
    } catch (error) {
      if (expired) throw driverError('NJS-123', `call timeout of ${limitMs} ms exceeded`)
      throw rewritten(error)
    } finally {
      clearTimeout(timer)
      this._impl.nscon.ntAdapter.stream.off('close', onCut)
    }
  }

  #cutOff(): void {
    if (this.#cut) return
    this.#cut = true
    this.session.clientGone()
    setImmediate(() => { this._impl.nscon.ntAdapter.stream.emit('close') })
  }
}

function isOut(bind: OracleBinds[string] | undefined): boolean {
  return typeof bind === 'object' && bind !== null && bind.dir === types.BIND_OUT
}

function valueOf(bind: OracleBinds[string] | undefined): ValueStandIn {
  if (bind === null || bind === undefined || isOut(bind)) return null
  return typeof bind === 'object' ? bind.val ?? null : bind
}

function outValue({ type, maxSize }: OracleBind, value: string | number | boolean | null | undefined): unknown {
  if (value === null || value === undefined) return null
  if (type === types.NUMBER) return Number(value)
  const text = String(value)
  // https://docs.oracle.com/en/error-help/db/ora-06502/
  if (Buffer.byteLength(text) > (maxSize ?? 200)) throw driverError('ORA-06502', 'PL/SQL: value or conversion error: character string buffer too small')
  return text
}

/** NJS-098: wrong number of bind values. */
function mustMatch(text: string, given: ReadonlyMap<string, unknown>): void {
  const wanted = new Set([...text.replaceAll(/'(?:[^']|'')*'/g, "''").matchAll(/:(\w+)/g)].map(([, name]) => name ?? ''))
  if (wanted.size !== given.size || [...wanted].some((name) => !given.has(name))) {
    throw driverError('NJS-098', `${wanted.size} bind placeholders were used in the SQL statement but ${given.size} bind values were provided`)
  }
}
