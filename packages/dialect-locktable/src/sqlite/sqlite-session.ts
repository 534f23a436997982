import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { SqlResult, SqlSession, Statement } from '@sched/core/spi'
import { FileReplacedError } from './sqlite-errors.ts'
import { StatementCache } from './statement-cache.ts'

/**
 * One handle on the file. Everything in it is synchronous: a call has ended when its promise is there, and blocks the event loop
 * for as long as it took, a foreign writer's turn included (the busy timeout bounds that).
 */
export class SqliteSession implements SqlSession<DatabaseSync> {
  readonly client: DatabaseSync
  readonly #file: string
  readonly #identity: string
  readonly #statements: StatementCache
  #inTransaction = false

  constructor(client: DatabaseSync, file: string) {
    this.client = client
    this.#file = file
    this.#identity = identityOf(file)
    this.#statements = new StatementCache(client)
  }

  async run(statement: Statement): Promise<SqlResult> {
    if (!this.#inTransaction) this.#checkFile()
    return this.#statements.run(statement)
  }

  async begin(): Promise<void> {
    this.#checkFile()
    // A deferred transaction that reads before it writes ends in SQLITE_BUSY_SNAPSHOT as soon as somebody else wrote.
    this.client.exec('BEGIN IMMEDIATE')
    this.#inTransaction = true
  }

  async commit(): Promise<void> {
    try {
      this.client.exec('COMMIT')
    } catch (error) {
      await this.rollback() // SQLite leaves it open for another try; to the core a COMMIT that failed is over
      throw error
    }
    this.#inTransaction = false
  }

  async rollback(): Promise<void> {
    this.#inTransaction = false
    try {
      this.client.exec('ROLLBACK')
    } catch (error) {
      // After some errors (disk full, I/O) SQLite has rolled back by itself: https://www.sqlite.org/lang_transaction.html
      if (!(error instanceof Error && /no transaction is active$/.test(error.message))) throw error
    }
  }

  async ping(): Promise<void> {
    this.#checkFile()
    this.client.exec('PRAGMA schema_version') // reads the file; `SELECT 1` would not
  }

  /** Closing rolls an open transaction back. */
  destroy(): void {
    try {
      this.client.close()
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_INVALID_STATE') throw error // closed already: by an earlier call or by the user
    }
  }

  /**
   * A handle outlives its file: after a delete or a restore it goes on writing to what nobody else sees, and two instances
   * would both be alone. In WAL mode SQLite itself does not look. One `stat` (some microseconds) before what stands alone.
   */
  #checkFile(): void {
    const found = identityOf(this.#file)
    if (found !== this.#identity) throw new FileReplacedError(this.#file)
  }
}

function identityOf(file: string): string {
  const stat = statSync(file, { bigint: true, throwIfNoEntry: false })
  return stat === undefined ? 'none' : `${stat.dev}:${stat.ino}`
}
