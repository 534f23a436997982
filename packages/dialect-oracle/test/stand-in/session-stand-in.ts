import { NotModelledError, OracleErrorStandIn } from './oracle-error-stand-in.ts'
import { PackagesStandIn } from './packages-stand-in.ts'
import { PlSqlInterpreterStandIn, type PlSqlValueStandIn } from './plsql-interpreter-stand-in.ts'
import { parsePlSqlStandIn } from './plsql-parser-stand-in.ts'
import type { OracleServerStandIn } from './server-stand-in.ts'
import { translateStandIn, type TranslatedStandIn } from './sql-translation-stand-in.ts'
import type { ColumnStandIn, StatementResultStandIn, ValueStandIn } from './tables-stand-in.ts'
import { cancelled, type WaiterStandIn } from './waits-stand-in.ts'

export interface AnswerStandIn {
  readonly columns: readonly ColumnStandIn[]
  readonly rows: readonly (readonly ValueStandIn[])[]
  readonly affected: number
  /** Of a block: every bind, as it was left. */
  readonly binds: ReadonlyMap<string, PlSqlValueStandIn>
}

/** One session of the server: a transaction, settings, what it waits for, and its end. */
export class SessionStandIn implements WaiterStandIn {
  readonly sid: number
  readonly serial: number
  readonly name: string
  readonly settings: string[] = []
  identifier: string | null = null
  interrupt: WaiterStandIn['interrupt']
  waitsFor: WaiterStandIn['waitsFor'] = new Set()
  ended = false
  /** The client is told when the server ends it. */
  onEnd: ((cause: OracleErrorStandIn) => void) | undefined
  readonly #server: OracleServerStandIn
  #changes: Uint8Array | undefined
  #broken = false
  #calls = 0
  #clientGone = false

  constructor(server: OracleServerStandIn, sid: number, serial: number) {
    this.#server = server
    this.sid = sid
    this.serial = serial
    this.name = `session ${sid}`
  }

  async execute(text: string, binds: ReadonlyMap<string, ValueStandIn>, autoCommit: boolean): Promise<AnswerStandIn> {
    return this.#called(async () => {
      const answer = /^\s*(BEGIN|DECLARE)\b/.test(text) ? await this.#block(text, binds) : await this.#single(text, binds)
      if (autoCommit) this.#commit()
      return answer
    })
  }

  async commit(): Promise<void> { await this.#called(async () => { this.#commit() }) }
  async rollback(): Promise<void> { await this.#called(async () => { this.#rollback() }) }
  async ping(): Promise<void> { await this.#called(async () => {}) }

  get version(): string { return this.#server.options.version ?? '23.5.0.24.7' }

  get inTransaction(): boolean { return this.#changes !== undefined || this.#server.rowLocks.held(this) }

  /** The client sent a break: what waits is cancelled; without a call there is nothing to cancel. */
  break(): void {
    if (this.#calls === 0) return
    if (this.interrupt === undefined) this.#broken = true
    else this.interrupt(cancelled())
  }

  /** The client's socket is closed. In the middle of a call the server learns of it when it answers. */
  clientGone(): void {
    this.#clientGone = true
    if (this.#calls === 0) this.end()
  }

  /** Everything that belongs to it ends: its transaction, its locks. */
  end(cause?: OracleErrorStandIn): void {
    if (this.ended) return
    this.ended = true
    this.#rollback()
    this.#server.sessionEnded(this)
    this.interrupt?.(cause ?? new OracleErrorStandIn(3113, 'end-of-file on communication channel'))
    if (cause !== undefined) this.onEnd?.(cause)
  }

  /** ALLOCATE_UNIQUE "performs a commit". */
  commitNow(): void { this.#commit() }

  async #called<T>(work: () => Promise<T>): Promise<T> {
    this.#calls += 1
    try {
      // A call takes a moment, so that several at once are really so.
      await new Promise((resolve) => { setImmediate(resolve) })
      if (this.ended) throw new OracleErrorStandIn(3113, 'end-of-file on communication channel')
      if (this.#broken) throw cancelled()
      return await work()
    } finally {
      this.#calls -= 1
      this.#broken = false
      if (this.#clientGone) this.end()
    }
  }

  async #single(text: string, binds: ReadonlyMap<string, ValueStandIn>): Promise<AnswerStandIn> {
    if (/^ALTER /.test(text)) {
      await this.#alter(text)
      return { columns: [], rows: [], affected: 0, binds: new Map() }
    }
    const statement = translateStandIn(text)
    if (statement.kind === 'ddl') {
      this.#commit()
      this.#server.tables.define(statement.text)
      return { columns: [], rows: [], affected: 0, binds: new Map() }
    }
    const { columns, rows, affected } = await this.#sql(statement, statement.names.map((name) => binds.get(name) ?? null))
    return { columns, rows, affected, binds: new Map() }
  }

  /** A block that fails is undone as a whole: its changes and its row locks, not what was committed inside it. */
  async #block(text: string, binds: ReadonlyMap<string, ValueStandIn>): Promise<AnswerStandIn> {
    const packages = new PackagesStandIn(this.#server, this)
    const block = parsePlSqlStandIn(text, (path) => { packages.mustBeVisible(path) })
    const before = { changes: this.#changes, locks: this.#server.rowLocks.snapshot(this) }
    const values = new Map<string, PlSqlValueStandIn>(binds)
    const interpreter = new PlSqlInterpreterStandIn({
      call: (path, argument, assign) => packages.call(path, argument, assign),
      dynamic: (statement) => this.#alter(statement),
      sql: async (statement) => {
        const translated = translateStandIn(statement)
        const { rows, affected } = await this.#sql(translated, translated.names.map((name) => plain(values.get(name))))
        return { first: rows[0]?.[0] ?? null, affected }
      },
    }, values)
    try {
      await interpreter.run(block)
    } catch (error) {
      this.#changes = before.changes
      this.#server.rowLocks.restore(this, before.locks)
      throw error
    }
    return { columns: [], rows: [], affected: 0, binds: values }
  }

  /** Tries it on what is committed now; a row that another transaction holds is waited for, and then everything is tried again. */
  async #sql(statement: TranslatedStandIn, values: readonly ValueStandIn[]): Promise<StatementResultStandIn> {
    this.#server.showViews(statement.text)
    const deadline = statement.waitSeconds === undefined ? undefined : performance.now() + statement.waitSeconds * 1_000
    for (;;) {
      const result = this.#server.tables.try(statement, values, this.#changes)
      const holders = this.#server.rowLocks.holders(this, result.keys)
      if (holders.size === 0) {
        this.#server.rowLocks.take(this, result.keys)
        this.#changes = result.changes
        return result
      }
      await this.#server.rowLocks.wait(this, holders, deadline === undefined ? undefined : Math.max(0, deadline - performance.now()), statement.waitSeconds)
    }
  }

  async #alter(text: string): Promise<void> {
    const kill = /^ALTER SYSTEM KILL SESSION '(\d+),(\d+),@(\d+)' IMMEDIATE$/.exec(text)
    if (kill !== null) { this.#server.kill(Number(kill[1]), Number(kill[2])); return }
    if (!/^ALTER SESSION SET /.test(text)) throw new NotModelledError(text)
    if (this.#server.options.cloudService !== undefined && /COMMIT_WAIT/.test(text)) throw new OracleErrorStandIn(1031, 'insufficient privileges')
    this.settings.push(text.slice('ALTER SESSION SET '.length))
  }

  #commit(): void {
    this.#server.tables.commit(this.#changes)
    this.#endTransaction()
  }

  #rollback(): void { this.#endTransaction() }

  #endTransaction(): void {
    this.#changes = undefined
    this.#server.userLocks.transactionEnded(this)
    this.#server.rowLocks.release(this)
  }
}

function plain(value: PlSqlValueStandIn | undefined): ValueStandIn {
  if (typeof value === 'boolean') throw new NotModelledError('a BOOLEAN in SQL')
  return value ?? null
}
