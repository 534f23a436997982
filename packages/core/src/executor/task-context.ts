import { SchedError } from '../errors.ts'
import { finishStatements, unanswered, type AttemptKey } from '../ledger/finish.ts'
import { readBack } from '../ledger/read-back.ts'
import type { AttemptReason, Origin } from '../ledger/execution-row.ts'
import type { LeaseSignal } from '../locks/lease-signal.ts'
import { commitUnknown } from '../session/commit-error.ts'
import { TransactionSession } from '../session/transaction-session.ts'
import type { Executor } from './executor.ts'

/** What a handler is told, and what it may do under its lease. `TClient` is the driver's client of the dialect. */
export interface TaskContext<TClient = unknown> {
  readonly task: string
  readonly executionId: string
  /** The instant of the schedule this run is for, never "now". */
  readonly fireTime: Date
  /** Why it runs: by schedule, caught up after an outage, by hand (`manual`: triggered or retried by a person; a retry stays so in its further attempts), or as a further attempt. */
  readonly reason: Origin | AttemptReason
  /** Counts from 1. */
  readonly attempt: number
  /** Milliseconds between the fire time and the start, by the database's clock. */
  readonly lateMs: number
  /** Random per attempt. */
  readonly owner: string
  /** Grows with every start of the task. Hand it to whatever the task writes to outside the database. */
  readonly fencingToken: number
  /** Aborts on a lost lease, a timeout, a cancellation and a drain. `aborted` and `throwIfAborted` are judged at the moment they are read. */
  readonly signal: AbortSignal
  /**
   * Runs `fn` and completes the execution in one transaction: both commit, or neither. May be called once, and nothing may follow
   * it that must be retried: later errors are events. Isolation and further limits are `fn`'s business.
   * @throws SchedError SCHED_FENCED when the execution has moved on, SCHED_LEASE_LOST, SCHED_TRANSACTION_TOO_LONG (SQLite),
   * SCHED_TRANSACTION_REPEATED; or what `fn` throws, after a rollback
   */
  transaction<T>(fn: (client: TClient) => T | Promise<T>): Promise<T>
  /** The same guard without completing the execution: for batches that commit in portions. */
  guarded<T>(fn: (client: TClient) => T | Promise<T>): Promise<T>
}

export interface ContextFacts {
  readonly key: AttemptKey
  readonly fireTime: number
  readonly reason: Origin | AttemptReason
  readonly attempt: number
  readonly lateMs: number
}

/** The context, and whether `transaction` has completed the execution. */
export class AttemptContext<TClient> implements TaskContext<TClient> {
  readonly task: string
  readonly executionId: string
  readonly fireTime: Date
  readonly reason: Origin | AttemptReason
  readonly attempt: number
  readonly lateMs: number
  readonly owner: string
  readonly fencingToken: number
  readonly #executor: Executor
  readonly #lease: LeaseSignal
  readonly #key: AttemptKey
  #completed = false
  #successSent = false

  constructor(executor: Executor, lease: LeaseSignal, facts: ContextFacts) {
    this.#executor = executor
    this.#lease = lease
    this.#key = facts.key
    this.task = facts.key.taskName
    this.executionId = facts.key.executionId
    this.fireTime = new Date(facts.fireTime)
    this.reason = facts.reason
    this.attempt = facts.attempt
    this.lateMs = facts.lateMs
    this.owner = facts.key.owner
    this.fencingToken = facts.key.fencingToken
    // Handlers take the context apart: `async ({ signal, transaction }) => …`.
    this.transaction = this.transaction.bind(this)
    this.guarded = this.guarded.bind(this)
  }

  get signal(): AbortSignal { return this.#lease.signal }

  get completed(): boolean { return this.#completed }

  /** `transaction` has sent the success, whatever came of it: only the ledger knows. */
  get successSent(): boolean { return this.#successSent }

  async transaction<T>(fn: (client: TClient) => T | Promise<T>): Promise<T> {
    if (this.#completed) throw new SchedError('SCHED_TRANSACTION_REPEATED', `ctx.transaction of ${this.task} has completed the execution already.`, { remedy: 'Use ctx.guarded for portions, and ctx.transaction once at the end.' })
    this.signal.throwIfAborted()
    const session = await this.#open()
    const value = await session.run<T>(fn, async () => {
      this.signal.throwIfAborted()
      this.#successSent = true
      const matched = await finishStatements(this.#executor.ledger, this.#key, { state: 'succeeded' }, { clearGate: true }, session.sql)
      if (!matched) throw this.#fenced()
    }, (error) => this.#wasCommitted(error))
    this.#completed = true
    return value
  }

  async guarded<T>(fn: (client: TClient) => T | Promise<T>): Promise<T> {
    this.signal.throwIfAborted()
    const { tables, namespace, sql: { lockRow, lockHint = '' } } = this.#executor.ledger
    const { executionId, owner, fencingToken } = this.#key
    const session = await this.#open()
    return session.run<T>(fn, async () => {
      this.signal.throwIfAborted()
      const { rows } = await session.sql.run({
        text: `SELECT execution_id FROM ${tables.executions}${lockHint} WHERE namespace = ? AND execution_id = ? AND state = 'running' AND owner = ? AND fencing_token = ?${lockRow}`,
        params: [namespace, executionId, owner, fencingToken],
      })
      if (rows.length === 0) throw this.#fenced()
    }, async () => false)
  }

  async #open(): Promise<TransactionSession<TClient>> {
    const { clock, random, leaseMs, transactionBudgetMs } = this.#executor
    const opened = await this.#executor.openTransaction()
    return new TransactionSession<TClient>(opened, { clock, random, signal: this.signal, beginMs: leaseMs / 4, stepMs: leaseMs, budgetMs: transactionBudgetMs, what: `ctx.transaction of ${this.task}` })
  }

  /** The answer to COMMIT was lost: only the ledger knows. */
  async #wasCommitted(error: unknown): Promise<boolean> {
    if (!commitUnknown(error)) return false
    return (await readBack(this.#executor.ledger, unanswered(this.#key, { state: 'succeeded' }))).status === 'mine-finished'
  }

  #fenced(): SchedError {
    return new SchedError('SCHED_FENCED', `execution ${this.executionId} of ${this.task} has moved on under another owner: nothing of this transaction was written.`, { details: { owner: this.owner, fencingToken: this.fencingToken } })
  }
}
