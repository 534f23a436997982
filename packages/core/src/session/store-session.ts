import { SchedError, asError } from '../errors.ts'
import type { ErrorClass } from '../spi/error-class.ts'
import type { SqlResult, SqlSession, Statement } from '../spi/sql-session.ts'
import type { Clock } from '../time/clock.ts'
import { openGuarded } from './reach-database.ts'
import { commitError } from './commit-error.ts'
import type { GuardedSession, Destroyable } from './guarded-session.ts'
import { retryTransient } from './retry-transient.ts'

export interface StoreSessionOptions<S extends Destroyable> {
  clock: Clock
  random: () => number
  label: string
  classify: (error: unknown) => ErrorClass
  open: (signal: AbortSignal) => Promise<S>
  /** The SQL side of what was opened. */
  sql(raw: S): SqlSession
  /** Longest wait for one call. */
  callMs: number
  /** Longest wait for a new session: connecting takes longer than a statement, most of all when many boot together. Default `callMs`. */
  openMs?: number
  /** The URL whose secrets must not show in an error. */
  url?: string | undefined
  /** Behind a transaction pooler every statement travels inside a transaction. */
  sharedSessions: boolean
}

/** What a block did, and whether it is to be kept. */
export interface BlockResult<T> { readonly commit: boolean; readonly value: T }

/**
 * One session of a purpose (store, pulse), opened when needed and again after a loss. Contention is retried within `callMs`;
 * everything else is thrown as a SchedError.
 */
export class StoreSession<S extends Destroyable = SqlSession> {
  readonly #options: StoreSessionOptions<S>
  readonly #closing = new AbortController()
  #session: GuardedSession<S> | undefined
  #opening: Promise<GuardedSession<S>> | undefined

  constructor(options: StoreSessionOptions<S>) { this.#options = options }

  /** The open session, if there is one. */
  get current(): GuardedSession<S> | undefined { return this.#session?.lost === undefined ? this.#session : undefined }

  /** Opens the session unless it is open. @throws SchedError SCHED_DATABASE_UNREACHABLE, SCHED_AUTHENTICATION, … */
  async open(signal?: AbortSignal): Promise<GuardedSession<S>> {
    if (this.#closing.signal.aborted) throw new SchedError('SCHED_STOPPED', `the ${this.#options.label} session is closed.`)
    const current = this.current
    if (current !== undefined) return current
    this.#opening ??= this.#openNew(signal).finally(() => { this.#opening = undefined })
    return this.#opening
  }

  /** One statement in autocommit (in a transaction of its own behind a pooler). `answer`: as in a block. */
  run(what: string, statement: Statement, options: { answer?: 'lock-timeout' } = {}): Promise<SqlResult> {
    if (this.#options.sharedSessions) return this.block(what, async (sql) => ({ commit: true, value: await sql.run(statement) }), options)
    return this.#retried(what, (sql) => sql.run(statement), options.answer)
  }

  /**
   * BEGIN, `work`, COMMIT (or ROLLBACK as `work` says, or when it throws). When the answer to COMMIT is lost the error carries
   * `details.commitUnknown`: nobody may assume either outcome. With `answer: 'lock-timeout'` a row that stays locked is not waited
   * for again: the caller takes that error as its answer.
   */
  block<T>(what: string, work: (sql: SqlSession) => Promise<BlockResult<T>>, options: { answer?: 'lock-timeout' } = {}): Promise<T> {
    return this.#retried(what, (sql) => runBlock(sql, work, this.#options.classify, what), options.answer)
  }

  /** Destroys the session; the next call opens another. */
  drop(reason: Error): void { this.#session?.destroy(reason) }

  close(): void {
    const stopped = new SchedError('SCHED_STOPPED', `the ${this.#options.label} session is closed.`)
    this.#closing.abort(stopped)
    this.#session?.destroy(stopped)
  }

  #retried<T>(what: string, work: (sql: SqlSession) => Promise<T>, except?: ErrorClass): Promise<T> {
    const { clock, random, callMs } = this.#options
    return retryTransient(() => this.#once(what, work), { clock, random, deadlineMs: callMs, signal: this.#closing.signal, except })
  }

  async #once<T>(what: string, work: (sql: SqlSession) => Promise<T>): Promise<T> {
    const session = await this.open()
    return session.exclusive(what, (raw) => work(this.#options.sql(raw)), { deadlineMs: this.#options.callMs })
  }

  async #openNew(signal?: AbortSignal): Promise<GuardedSession<S>> {
    const { clock, random, label, callMs, openMs = callMs, url, classify, open } = this.#options
    const signals = signal === undefined ? this.#closing.signal : AbortSignal.any([this.#closing.signal, signal])
    this.#session = await openGuarded(label, open, { clock, random, deadlineMs: openMs, classify, url, signal: signals })
    return this.#session
  }
}

async function runBlock<T>(
  sql: SqlSession, work: (sql: SqlSession) => Promise<BlockResult<T>>, classify: (error: unknown) => ErrorClass, what: string,
): Promise<T> {
  await sql.begin()
  let result: BlockResult<T>
  try {
    result = await work(sql)
  } catch (error) {
    try {
      await sql.rollback()
    } catch (rollbackError) {
      // A session that cannot roll back is gone; the first error says why.
      throw new SchedError('SCHED_SESSION_LOST', `${what} failed and could not be rolled back: ${asError(error).message}`, {
        cause: new AggregateError([error, rollbackError]), details: { errorClass: 'connection-lost' },
      })
    }
    throw error
  }
  if (!result.commit) {
    await sql.rollback()
    return result.value
  }
  try {
    await sql.commit()
  } catch (thrown) {
    throw commitError(classify(thrown), what, thrown)
  }
  return result.value
}
