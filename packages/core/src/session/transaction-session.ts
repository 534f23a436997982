import { SchedError, asError } from '../errors.ts'
import type { ErrorClass } from '../spi/error-class.ts'
import type { SqlSession } from '../spi/sql-session.ts'
import type { Clock } from '../time/clock.ts'
import { withDeadline } from '../time/wait.ts'
import { classifiedError } from './classified-error.ts'
import { commitError } from './commit-error.ts'
import { retryTransient } from './retry-transient.ts'

/** A session as it was opened for one transaction, with the way to read its errors. */
export interface OpenTransaction { readonly sql: SqlSession; classify(error: unknown): ErrorClass }

export interface TransactionLimits {
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  /** Longest wait for the answer to a statement of ours. */
  readonly stepMs: number
  /** Longest wait for BEGIN: where there is one writer, it may have to queue. */
  readonly beginMs: number
  /** Longest the transaction may stay open; undefined: no limit of ours. */
  readonly budgetMs: number | undefined
  readonly what: string
}

/**
 * A transaction lent to the user's code, on a session of its own that ends with it. The guard runs last before COMMIT, so that the
 * user's writes and the ledger's stand or fall together.
 */
export class TransactionSession<TClient> {
  readonly sql: SqlSession
  readonly #limits: TransactionLimits
  readonly #classify: (error: unknown) => ErrorClass

  constructor(opened: OpenTransaction, limits: TransactionLimits) {
    this.sql = opened.sql
    this.#classify = (error) => opened.classify(error)
    this.#limits = limits
  }

  /**
   * BEGIN, `fn`, `guard`, COMMIT. Anything thrown rolls back and is thrown on; a COMMIT without an answer is decided by `committed`.
   * The session is destroyed in the end: what ran on it is nobody else's business.
   */
  async run<T>(fn: (client: TClient) => T | Promise<T>, guard: () => Promise<void>, committed: (error: unknown) => Promise<boolean>): Promise<T> {
    const { clock, random, budgetMs, beginMs, signal, what } = this.#limits
    const work = async (): Promise<T> => {
      await retryTransient(() => this.#ours('BEGIN', () => this.sql.begin()), { clock, random, deadlineMs: beginMs, signal })
      const value = await fn(this.sql.client as TClient)
      await this.#ours('the guard', guard)
      try {
        await this.#answered('COMMIT', () => this.sql.commit())
      } catch (thrown) {
        const error = thrown instanceof SchedError ? thrown : commitError(this.#classify(thrown), what, thrown)
        if (!await committed(error)) throw error
      }
      return value
    }
    try {
      if (budgetMs === undefined) return await work()
      // The synchronous part of fn cannot be interrupted; an open transaction that awaits can.
      return await withDeadline(clock, work(), {
        deadlineMs: budgetMs, signal,
        onDeadline: () => new SchedError('SCHED_TRANSACTION_TOO_LONG', `${what} was open for more than ${Math.round(budgetMs)} ms, in which no other process can write to this database.`, { remedy: 'Do the slow work before the transaction, or use a database server.' }),
        onAbandon: () => this.sql.destroy(),
      })
    } finally {
      // Ends the transaction too, when it is still open.
      this.sql.destroy()
    }
  }

  /** Our own statements have a deadline, on a session that nobody answers too; the user's are the user's. */
  #answered<T>(step: string, work: () => Promise<T>): Promise<T> {
    const { clock, stepMs, what } = this.#limits
    return withDeadline(clock, work(), {
      deadlineMs: stepMs, onAbandon: () => this.sql.destroy(),
      onDeadline: () => new SchedError('SCHED_QUERY_TIMEOUT', `${what}: ${step} had no answer within ${stepMs} ms.`, { remedy: 'The session was destroyed; look for a frozen server or a lost network.' }),
    })
  }

  async #ours<T>(step: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#answered(step, work)
    } catch (thrown) {
      if (thrown instanceof SchedError) throw thrown
      throw classifiedError(this.#classify(thrown), `${this.#limits.what}: ${step}`, asError(thrown))
    }
  }
}
