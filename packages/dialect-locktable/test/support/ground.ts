import type { Dialect, LockHolding, LockName, LockOutcome, LockSource, OpenOptions, SqlRow, SqlSession, Tables } from '@sched/core/spi'
import { lockTableStatement } from '@sched/core/spi'
import { tableNames } from '@sched/core/spi'
import type { LockTableConnection } from '../../src/lock-table-connection.ts'

export const namespace = 'tests'
export const leaseMs = 30_000

/** A place with its lock table made, and connections to it. */
export class Ground {
  readonly dialect: Dialect
  readonly source: LockSource<LockTableConnection>
  readonly tables: Tables
  readonly #opened: { destroy(): void }[] = []
  #owners = 0
  readonly #sharedSessions: boolean

  constructor(dialect: Dialect, sharedSessions = false) {
    const { store } = dialect
    if (store === undefined) throw new Error(`${dialect.name} has no store`)
    this.dialect = dialect
    this.#sharedSessions = sharedSessions
    this.source = dialect.locks as LockSource<LockTableConnection>
    this.tables = tableNames(store.sql)
  }

  options(changes: Partial<OpenOptions> = {}): OpenOptions {
    return { signal: new AbortController().signal, leaseMs, label: `sched:${namespace}:here:1`, tables: this.tables, sharedSessions: this.#sharedSessions, ...changes }
  }

  async connect(changes: Partial<OpenOptions> = {}): Promise<LockTableConnection> {
    const connection = await this.source.open('pulse', this.options(changes))
    this.#opened.push(connection)
    return connection
  }

  async session(): Promise<SqlSession> {
    const session = await this.dialect.store!.open('store', { ...this.options(), statementMs: 5_000, rowLockMs: 1_000, sharedSessions: this.#sharedSessions })
    this.#opened.push(session)
    return session
  }

  async createLockTable(): Promise<void> {
    const session = await this.session()
    await session.run({ text: lockTableStatement(this.dialect.store!.sql, this.tables), params: [] })
  }

  try(connection: LockTableConnection, name: LockName, changes: { owner?: string; leaseMs?: number; ownerLabel?: string } = {}): Promise<LockOutcome> {
    return this.source.strategy.tryLock(connection, { name, owner: this.owner(), ownerLabel: 'here:1', leaseMs, ...changes })
  }

  async take(connection: LockTableConnection, name: LockName, changes: { owner?: string; leaseMs?: number; ownerLabel?: string } = {}): Promise<LockHolding & { fencingToken: number }> {
    const owner = changes.owner ?? this.owner()
    const outcome = await this.try(connection, name, { ...changes, owner })
    if (outcome.status !== 'granted' || outcome.fencingToken === undefined) throw new Error(`${name.name} was ${outcome.status}`)
    return { name, owner, fencingToken: outcome.fencingToken }
  }

  owner(): string {
    this.#owners += 1
    return `owner-${this.#owners}-${crypto.randomUUID()}`
  }

  /** Every row of the lock table, in order of names. */
  async rows(): Promise<readonly SqlRow[]> {
    const session = await this.session()
    const { rows } = await session.run({ text: `SELECT * FROM ${this.tables.locks} ORDER BY lock_name`, params: [] })
    session.destroy()
    return rows
  }

  destroyAll(): void { for (const one of this.#opened.splice(0)) one.destroy() }
}
