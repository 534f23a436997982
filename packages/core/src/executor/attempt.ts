import { randomUUID } from 'node:crypto'
import { SchedError, asError, isSchedError } from '../errors.ts'
import { byHand, type ExecutionRow } from '../ledger/execution-row.ts'
import { clearGate, finishExecution, finishedAs, unanswered, type AttemptEnd, type AttemptKey, type FinishOutcome } from '../ledger/finish.ts'
import { readBack } from '../ledger/read-back.ts'
import { startExecution, type StartOutcome, type StartRequest } from '../ledger/start.ts'
import { createLeaseSignal, type LeaseSignal } from '../locks/lease-signal.ts'
import { errorClassOf } from '../session/classified-error.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import { sleep } from '../time/wait.ts'
import type { ArmedTask } from './armed-task.ts'
import type { AcquireOutcome, AttemptRef } from './events.ts'
import type { Executor } from './executor.ts'
import type { NodeLife } from './node-lease.ts'
import { settleRefused } from './settle-refused.ts'
import { takeVeto } from './take-veto.ts'
import { superviseHandler, type Settled } from './supervise-handler.ts'
import { AttemptContext } from './task-context.ts'
import { maxCrashes } from './retry-policy.ts'
import type { TaskDefinition } from './task-definition.ts'
import type { VetoHold } from './veto.ts'

/**
 * What the caller has to do next. `again`: it ended, and is due once more at `at` (database time). `ineligible`: another definition rules.
 * `unregistered`: this node's lease is over.
 */
export type AttemptOutcome =
  | { readonly status: 'ended' }
  /** Refused; it waits for its turn. */
  | { readonly status: 'waiting' }
  /** Refused, and recorded as skipped. */
  | { readonly status: 'skipped' }
  | { readonly status: 'ineligible' } | { readonly status: 'unregistered' }
  | { readonly status: 'again'; readonly at: number }
  /** Not started yet: the same row, unchanged, is to be started at `at`. */
  | { readonly status: 'early'; readonly at: number }

/** A handler that ignores its signal; in an object, because awaiting it is the caller's choice. */
interface Stuck { readonly gateFreed: Promise<void> }


const previousRuns = 'the previous run has not ended'
const ended: AttemptOutcome = { status: 'ended' }

/** One attempt of one execution: veto, start, handler, finish, release, in this order (protocol, section 1). */
export async function runAttempt(executor: Executor, armed: ArmedTask, row: ExecutionRow): Promise<AttemptOutcome> {
  const { life } = executor
  const task = armed.definition
  if (life.judge() !== undefined) return { status: 'unregistered' }
  const gated = task.overlap !== 'allow'
  const hold = gated ? await takeVeto(executor, task.name) : undefined
  if (hold === 'busy') return settleRefused(executor, armed, row, previousRuns)
  if (hold === 'refused') {
    executor.events.emit('lock.foreign', { task: task.name, holder: await executor.veto?.holder(task.name) ?? null })
    return settleRefused(executor, armed, row, 'the lock of the task is held by somebody outside the ledger')
  }
  // In memory before the start is sent and until its gate is free: a sweep of this node must not take it for an orphan.
  const owner = randomUUID()
  executor.owners.set(owner, { gated })
  let stuck: Stuck | undefined
  try {
    const started = await startTimed(executor, { executionId: row.executionId, taskName: task.name, definitionHash: task.hash, nodeId: life.nodeId, owner, gated, manual: byHand(row) })
    switch (started.status) {
      case 'busy': return await settleRefused(executor, armed, row, previousRuns)
      case 'ineligible': return { status: 'ineligible' }
      case 'moved': return ended
      case 'not-due': return { status: 'early', at: started.dueAt }
      case 'unanswered': return { status: 'early', at: executor.databaseClock.nowMs() }
      case 'node-lapsed': return { status: 'unregistered' }
      case 'started': break
    }
    const key: AttemptKey = { executionId: row.executionId, taskName: task.name, owner, fencingToken: started.fencingToken, crashCount: started.crashCount }
    const attempt = new Attempt(executor, task, row, life, hold, key, started.attempt, started.dbNow - row.fireTime, row.origin === 'manual' ? 0 : armed.jitterMs)
    stuck = await attempt.run()
    return attempt.retryAt === undefined ? ended : { status: 'again', at: attempt.retryAt }
  } finally {
    if (stuck === undefined) executor.owners.delete(owner)
    await hold?.release()
    if (stuck !== undefined) {
      // The worker is busy as long as the handler is.
      await stuck.gateFreed
      executor.owners.delete(owner)
    }
  }
}

async function startTimed({ ledger, clock, events }: Executor, request: StartRequest): Promise<StartOutcome> {
  const watch = startStopwatch(clock)
  const tell = (outcome: AcquireOutcome): void => {
    if (request.gated) events.emit('lock.acquire', { task: request.taskName, kind: 'gate', outcome, durationMs: watch.elapsedMs() })
  }
  const started = await startExecution(ledger, request).catch((error: unknown) => { tell('failed'); throw error })
  if (started.status === 'started') tell('acquired')
  else if (started.status === 'busy') tell('refused')
  return started
}

class Attempt {
  readonly #executor: Executor
  readonly #task: TaskDefinition
  readonly #row: ExecutionRow
  readonly #life: NodeLife
  readonly #hold: VetoHold | undefined
  readonly #key: AttemptKey
  readonly #number: number
  readonly #lateMs: number
  readonly #jitterMs: number
  readonly #lease: LeaseSignal
  /** When the next attempt is due, by the database's clock. */
  retryAt: number | undefined

  constructor(executor: Executor, task: TaskDefinition, row: ExecutionRow, life: NodeLife, hold: VetoHold | undefined, key: AttemptKey, number: number, lateMs: number, jitterMs: number) {
    this.#executor = executor
    this.#task = task
    this.#row = row
    this.#life = life
    this.#hold = hold
    this.#key = key
    this.#number = number
    this.#lateMs = lateMs
    this.#jitterMs = jitterMs
    this.#lease = createLeaseSignal(() => (life.judge() ?? hold?.judge()) as SchedError | undefined)
  }

  get #ref(): AttemptRef {
    const { executionId, owner, fencingToken } = this.#key
    return { task: this.#task.name, executionId, fireTime: this.#row.fireTime, attempt: this.#number, owner, fencingToken }
  }

  /** Resolves when the execution has ended or moved on; with what to wait for when the handler ignores its signal. */
  async run(): Promise<Stuck | undefined> {
    const { events, abortGraceMs, clock, interrupt } = this.#executor
    const context = new AttemptContext(this.#executor, this.#lease, {
      key: this.#key, fireTime: this.#row.fireTime, reason: this.#row.attemptReason ?? this.#row.origin, attempt: this.#number, lateMs: this.#lateMs,
    })
    const abort = (reason: SchedError): void => this.#lease.abort(reason)
    const { running } = this.#executor
    running.set(this.#key.executionId, abort)
    // A later attempt of the same execution may run on this node by now.
    const forget = (): void => { if (running.get(this.#key.executionId) === abort) running.delete(this.#key.executionId) }
    let stuck: Extract<Settled, { status: 'stuck' }> | undefined
    let written = false
    const forgetLife = this.#life.onLost((reason) => this.#lease.abort(reason))
    this.#hold?.onLost((reason) => this.#lease.abort(reason))
    const watch = startStopwatch(clock)
    try {
      events.emit('execution.started', { ...this.#ref, origin: this.#row.origin, attemptReason: this.#row.attemptReason, lateMs: this.#lateMs, delayMs: this.#lateMs - this.#jitterMs, priority: this.#task.priority })
      const settled = await superviseHandler({
        // Once more, after the start's COMMIT and before the handler is called.
        run: () => { this.#lease.signal.throwIfAborted(); return this.#task.handler(context) },
        lease: this.#lease, clock, interrupt, abortGraceMs, timeoutMs: this.#task.timeoutMs, task: this.#task.name,
      })
      if (settled.status === 'stuck') stuck = settled
      const completed = context.completed || (context.successSent && await this.#hasSucceeded())
      const runMs = watch.elapsedMs()
      written = completed ? this.#completed(settled, runMs) : await this.#finish(settled, runMs)
    } catch (error) {
      events.emit('execution.unfinished', { ...this.#ref, error: asError(error), runMs: watch.elapsedMs() })
      if (stuck === undefined) throw error
      events.emit('error', { error: asError(error), where: `ending ${this.#task.name} without its handler` })
    } finally {
      if (stuck === undefined || written) forget()
      forgetLife()
    }
    // While the handler goes on, this node answers for the row: nobody may take it for an orphan and start beside it.
    return stuck === undefined ? undefined : { gateFreed: this.#whenSettled(stuck.handler, written).finally(forget) }
  }

  /** `ctx.transaction` has written success together with the task's own writes: what came after it is an event only. */
  #completed(settled: Settled, runMs: number): true {
    this.#executor.events.emit('execution.succeeded', { ...this.#ref, runMs })
    if (settled.status === 'threw') this.#executor.events.emit('error', { error: asError(settled.error), where: `the handler of ${this.#task.name}, after ctx.transaction had completed it` })
    return true
  }

  /** The transaction's answer was lost, or came too late for the lease: the row tells whether it was committed. */
  async #hasSucceeded(): Promise<boolean> {
    const { ledger } = this.#executor
    return (await this.#untilAnswered(() => readBack(ledger, unanswered(this.#key, { state: 'succeeded' })))).status === 'mine-finished'
  }

  /** True when the end of this attempt is in the ledger. */
  async #finish(settled: Settled, runMs: number): Promise<boolean> {
    const { events } = this.#executor
    const fenced = (reason: Error): false => { events.emit('execution.fenced', { ...this.#ref, reason, runMs }); return false }
    if (settled.status === 'threw' && isSchedError(settled.error, 'SCHED_FENCED')) return fenced(settled.error)
    const lost = this.#life.judge()
    // Nothing was sent, and nothing is sent now: in doubt the lease is lost.
    if (lost !== undefined) return fenced(lost)
    const end = this.#end(settled)
    const written = await this.#write(end, settled.status !== 'stuck')
    if (written === 'fenced') {
      return fenced(this.#life.judge() ?? new SchedError('SCHED_FENCED', `the execution had moved on when ${this.#task.name} finished.`))
    }
    const error = this.#lease.judge() ?? (settled.status === 'returned' ? undefined : asError(settled.error))
    if (end.state === 'succeeded') events.emit('execution.succeeded', { ...this.#ref, runMs })
    else if (written === 'cancelled') events.emit('execution.failed', { ...this.#ref, error: new SchedError('SCHED_TASK_CANCELLED', 'the execution was to be retried, and was cancelled meanwhile.', { cause: error }), runMs })
    else if (end.state === 'failed') events.emit('execution.failed', { ...this.#ref, error: error as Error, runMs })
    else {
      this.retryAt = this.#executor.databaseClock.nowMs() + end.delayMs
      events.emit('execution.retry', { ...this.#ref, error: error as Error, reason: end.reason, delayMs: end.delayMs, runMs })
    }
    if (settled.status === 'stuck') events.emit('task.stuck', this.#ref)
    return true
  }

  /** How this attempt ends in the ledger. */
  #end(settled: Settled): AttemptEnd {
    const aborted = this.#lease.judge()
    if (settled.status === 'returned' && aborted === undefined) return { state: 'succeeded' }
    const { retry } = this.#task
    // The abort is the cause, whatever the handler made of it.
    const error = aborted ?? (settled as { error: unknown }).error
    const [errorCode, errorText] = [isSchedError(error) ? error.code : 'SCHED_TASK_FAILED', asError(error).message]
    if (isSchedError(error, 'SCHED_TASK_INTERRUPTED')) return { state: 'retry', reason: 'interrupted', delayMs: 0, charged: false, errorCode, errorText }
    if (isSchedError(error, 'SCHED_TASK_CANCELLED')) return { state: 'failed', errorCode, errorText }
    if (aborted !== undefined && this.#hold?.judge() === aborted) {
      const again = this.#number < maxCrashes(retry.max)
      return again ? { state: 'retry', reason: 'lock-lost', delayMs: 0, charged: true, errorCode, errorText } : { state: 'failed', errorCode, errorText }
    }
    if (this.#number > retry.max || !this.#retryable(error)) return { state: 'failed', errorCode, errorText }
    return { state: 'retry', reason: 'retry', delayMs: retry.delayMs(this.#number, this.#executor.random), charged: true, errorCode, errorText }
  }

  /** The user's filter; one that throws has not said yes. */
  #retryable(error: unknown): boolean {
    try {
      return this.#task.retry.retryable(error)
    } catch (thrown) {
      this.#executor.events.emit('error', { error: asError(thrown), where: `retry.retryable of ${this.#task.name}` })
      return false
    }
  }

  /**
   * Writes the end; while the database is away it is tried again. Once the lease is over nothing is sent any more: what became of
   * the tries whose answers were lost is read back before anything is called fenced.
   */
  #write(end: AttemptEnd, clearGateToo: boolean): Promise<FinishOutcome> {
    const { ledger } = this.#executor
    return this.#untilAnswered(async () => {
      if (this.#life.judge() === undefined) return finishExecution(ledger, this.#key, end, { clearGate: clearGateToo })
      return finishedAs(await readBack(ledger, unanswered(this.#key, end)), end)
    })
  }

  /** Asks until the database answers: what became of an attempt must be known before anything is said of it. */
  async #untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
    const { clock, events, heartbeatMs } = this.#executor
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, heartbeatMs)) {
      try {
        return await ask()
      } catch (error) {
        if (!isSchedError(error) || error.code === 'SCHED_STOPPED' || !(error.retryable || errorClassOf(error) === 'connection-lost')) throw error
        events.emit('error', { error, where: `finishing ${this.#task.name}` })
      }
      await sleep(clock, pauseMs)
    }
  }

  /** The gate outlives a row that has ended; while the row runs in the ledger, it goes with it (I2). */
  async #whenSettled(handler: Promise<unknown>, ended: boolean): Promise<void> {
    await handler
    this.#executor.events.emit('task.unstuck', this.#ref)
    if (!ended) return
    try {
      await clearGate(this.#executor.ledger, this.#task.name, this.#key.owner)
    } catch (error) {
      // The sweep frees it: the owner leaves this node's memory now.
      this.#executor.events.emit('error', { error: asError(error), where: `freeing the gate of ${this.#task.name}` })
    }
  }
}
