import { randomUUID } from 'node:crypto'
import { asError, isSchedError } from '../errors.ts'
import { dueExecutions, nextPending, supersede } from '../ledger/due.ts'
import type { ExecutionRow } from '../ledger/execution-row.ts'
import { insertSlot } from '../ledger/slot.ts'
import { readTasks, type TaskRow } from '../ledger/tasks.ts'
import { sleep } from '../time/wait.ts'
import { Agenda } from './agenda.ts'
import { ArmedTask } from './armed-task.ts'
import { runAttempt, type AttemptOutcome } from './attempt.ts'
import type { Executor } from './executor.ts'
import { maxClaimAgeMs } from './missed-scan.ts'
import { MissedSettler } from './missed-settler.ts'
import type { TaskDefinition } from './task-definition.ts'
import type { Workers } from './workers.ts'

export interface DispatcherHooks {
  /** The node's lease turned out to be over: look at it now. */
  readonly onUnregistered: () => void
  /** The ledger does not know tasks of this node (any more). */
  readonly register: () => Promise<void>
  /** The database's clock must be read anew before anything fires. */
  readonly resample: () => Promise<void>
}

// A slot may be claimed so much before its time by the database's clock; the start waits for it.
const toleranceMs = 250
const dueBatch = 100

/**
 * Brings what is due to a start: fire times of the schedules through a slot, retries and orphaned slots directly. Everything waits
 * for a local worker first. What this node is too late for is left to the scan for missed slots, which all nodes agree on.
 */
export class Dispatcher {
  readonly #executor: Executor
  readonly #hooks: DispatcherHooks
  readonly #agenda: Agenda
  readonly #workers: Workers
  readonly #settler: MissedSettler
  readonly #tasks = new Map<string, ArmedTask>()
  readonly #running = new Set<Promise<void>>()
  readonly #inHand = new Set<string>()
  readonly #stopClaims = new AbortController()
  #looking: Promise<void> | undefined

  constructor(executor: Executor, workers: Workers, hooks: DispatcherHooks) {
    this.#executor = executor
    this.#hooks = hooks
    this.#agenda = new Agenda(executor.clock, () => executor.databaseClock.nowMs())
    this.#workers = workers
    this.#settler = new MissedSettler(executor, this.#agenda, this.#tasks, this.#lateMs, {
      stopped: () => this.#stopClaims.signal.aborted, track: (work, where) => this.#track(work, where), refresh: (task, row) => this.#refresh(task, row), dueNow: () => this.lookSoon(),
    })
  }

  /** Attempts and claims that have not come to an end. */
  get unsettled(): number { return this.#running.size }

  /** Arms the tasks; what is too late for a claim is the scan's. */
  arm(definitions: readonly TaskDefinition[], rows: ReadonlyMap<string, TaskRow>): void {
    for (const definition of definitions) {
      const task = new ArmedTask(definition, rows.get(definition.name) as TaskRow)
      this.#tasks.set(definition.name, task)
      this.#rearm(task)
    }
  }

  /** Definitions or states changed: this node claims only what it agrees with. */
  async reload(): Promise<void> {
    let rows = await readTasks(this.#executor.ledger)
    if ([...this.#tasks.keys()].some((name) => !rows.has(name))) {
      // The tables were made anew, or an old backup was restored: without a row the task would be silent for ever.
      await this.#hooks.register()
      rows = await readTasks(this.#executor.ledger)
    }
    for (const task of this.#tasks.values()) {
      const row = rows.get(task.name)
      if (row === undefined) continue
      this.#refresh(task, row)
    }
  }

  #refresh(task: ArmedTask, row: TaskRow): void {
    const { carried, row: { override } } = task
    task.row = row
    if (row.override !== override) this.#rearm(task)
    if (carried && !task.carried) this.#executor.events.emit('definition.superseded', { task: task.name })
  }

  /** Looks for due retries and orphaned slots at `at` (database time). */
  lookAt(at: number): void {
    this.#agenda.set(`due:${Math.ceil(at)}`, at, () => this.#track(this.#look(), 'looking for due executions'))
  }

  /** Time was lost (start, outage, new life): every task is scanned for slots that nobody claimed. */
  timeLost(): void { this.#settler.all() }

  /** No timer fires and nothing is claimed from now on. */
  stopClaims(): void {
    this.#agenda.stop()
    this.#stopClaims.abort()
  }

  /** Resolves when everything in hand has come to an end. */
  async drained(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }

  /** From the last slot that is still to be claimed, unless the task is younger. */
  #rearm(task: ArmedTask): void {
    this.#agenda.cancel(`task:${task.name}`)
    this.#armNext(task, Math.max(task.row.armedFrom, this.#executor.databaseClock.nowMs() - task.jitterMs - this.#lateMs))
  }

  #armNext(task: ArmedTask, after: number): void {
    const { schedule, hash } = task.definition
    const fireTime = schedule.next(after)
    if (fireTime === null) return
    this.#agenda.set(`task:${task.name}`, fireTime + task.jitterMs, () => {
      const now = this.#executor.databaseClock.nowMs()
      const late = now - fireTime - task.jitterMs > this.#lateMs
      // A loop that was blocked over many fire times must not claim them all.
      this.#armNext(task, late ? now - task.jitterMs - this.#lateMs : fireTime)
      if (late) this.#settler.later(task)
      else this.#track(this.#claim(task, fireTime, hash), `claiming a slot of ${task.name}`)
    })
  }

  /** Beyond this a slot is the scan's: until then it cannot be settled by another node. */
  get #lateMs(): number { return Math.max(this.#executor.heartbeatMs, 1000) }

  /** `hash`: of the definition that the fire time was computed from. */
  async #claim(task: ArmedTask, fireTime: number, hash: string): Promise<void> {
    const { databaseClock, ledger, leaseMs } = this.#executor
    if (!task.claimable) return
    if (databaseClock.suspicious) await this.#hooks.resample()
    const dueAt = fireTime + task.jitterMs
    if (databaseClock.nowMs() < dueAt) return this.#claimLater(task, fireTime, hash)
    const free = await this.#worker(task, fireTime)
    if (free === undefined) return this.#settler.later(task)
    try {
      if (databaseClock.nowMs() - dueAt > this.#lateMs || this.#executor.life.judge() !== undefined) return this.#settler.later(task)
      const executionId = randomUUID()
      const { definition } = task
      if (definition.hash !== hash) return
      const slot = await insertSlot(ledger, { executionId, taskName: task.name, definitionHash: definition.hash, fireTime, dueAt, maxClaimAgeMs: maxClaimAgeMs(definition, leaseMs), toleranceMs })
      if (slot.status === 'ineligible') await this.#ineligible(task, fireTime, hash, slot.dbNow)
      if (slot.status !== 'won') return
      await this.#run(task, { executionId, taskName: task.name, fireTime, dueAt, state: 'pending', origin: 'scheduled', attemptReason: null, attempt: 0, crashCount: 0 })
    } catch (error) {
      // Whether the slot is ours is unknown: the row, if there is one, is found as due; if there is none, the scan finds the hole.
      this.#settler.later(task)
      throw error
    } finally {
      free()
    }
  }

  async #again(task: ArmedTask, fireTime: number, hash: string): Promise<void> {
    this.#armNext(task, fireTime)
    await this.#claim(task, fireTime, hash)
  }

  /** The guards of the slot did not hold: our clock is ahead of the database, or the task has changed. */
  async #ineligible(task: ArmedTask, fireTime: number, hash: string, dbNow: number): Promise<void> {
    if (fireTime <= dbNow) return this.reload()
    await this.#hooks.resample()
    this.#claimLater(task, fireTime, hash)
  }

  #claimLater(task: ArmedTask, fireTime: number, hash: string): void {
    this.#agenda.set(`task:${task.name}`, fireTime + task.jitterMs, () => this.#track(this.#again(task, fireTime, hash), `claiming a slot of ${task.name}`))
  }

  /** Runs an execution on the worker in hand; where the task keeps a queue, then what waits, until nothing may start. */
  async #run(task: ArmedTask, first: ExecutionRow): Promise<void> {
    // What a person triggers on a paused task has no queue to wait in.
    let next: ExecutionRow | undefined = task.queues && task.claimable && first.state === 'pending' ? await this.#nextInQueue(task) ?? first : first
    for (let refused = 0; next !== undefined && refused < 2;) {
      const outcome = await this.#attempt(task, next)
      // Once more after a refusal: the gate may have become free just before the slot was seen waiting.
      refused = outcome === 'waiting' ? refused + 1 : 0
      next = task.queues && (outcome === 'waiting' || outcome === 'ended') && !this.#stopClaims.signal.aborted ? await this.#nextInQueue(task) : undefined
    }
  }

  /** `run-all` drains oldest first; the other policies keep one, and the latest takes the place of the rest. */
  async #nextInQueue(task: ArmedTask): Promise<ExecutionRow | undefined> {
    const { ledger, events } = this.#executor
    if (task.definition.misfire === 'run-all') return nextPending(ledger, task.name, 'oldest')
    const latest = await nextPending(ledger, task.name, 'newest')
    if (latest === undefined) return undefined
    for (const { taskName, executionId, fireTime } of await supersede(ledger, task.name, latest.fireTime)) {
      events.emit('slot.skipped', { task: taskName, executionId, fireTime, reason: 'superseded' })
    }
    return latest
  }

  async #attempt(task: ArmedTask, row: ExecutionRow): Promise<AttemptOutcome['status']> {
    const { clock, databaseClock } = this.#executor
    this.#inHand.add(row.executionId)
    try {
      let outcome = await runAttempt(this.#executor, task, row)
      // Claimed a little early by the database's clock: the worker in hand waits for it.
      while (outcome.status === 'early' && outcome.at - databaseClock.nowMs() <= 2 * toleranceMs && !this.#stopClaims.signal.aborted) {
        await sleep(clock, Math.max(1, Math.ceil(outcome.at - databaseClock.nowMs())))
        outcome = await runAttempt(this.#executor, task, row)
      }
      if (outcome.status === 'again' || outcome.status === 'early') this.lookAt(outcome.at)
      else if (outcome.status === 'ineligible') await this.reload()
      else if (outcome.status === 'unregistered') this.#hooks.onUnregistered()
      return outcome.status
    } finally {
      this.#inHand.delete(row.executionId)
    }
  }

  /** Single-flight: due rows of tasks that this node carries go to a worker each. */
  #look(): Promise<void> {
    this.#looking ??= this.#startDue().finally(() => { this.#looking = undefined })
    return this.#looking
  }

  async #startDue(): Promise<void> {
    let after: ExecutionRow | undefined
    do {
      if (this.#stopClaims.signal.aborted) return
      const rows: readonly ExecutionRow[] = await dueExecutions(this.#executor.ledger, { graceMs: this.#lateMs, most: dueBatch, after })
      for (const row of rows) this.#startIfCarried(row)
      // A page of rows that this node cannot start must not hide what comes behind it.
      after = rows.length === dueBatch ? rows.at(-1) : undefined
    } while (after !== undefined)
  }

  #startIfCarried(row: ExecutionRow): void {
    const task = this.#tasks.get(row.taskName)
    if (task?.startable(row) !== true || this.#inHand.has(row.executionId)) return
    this.#inHand.add(row.executionId)
    this.#track(this.#startExisting(task, row), `starting an execution of ${row.taskName}`)
  }

  async #startExisting(task: ArmedTask, row: ExecutionRow): Promise<void> {
    const free = await this.#worker(task, row.fireTime)
    try {
      if (free !== undefined) await this.#run(task, row)
    } finally {
      this.#inHand.delete(row.executionId)
      free?.()
    }
  }

  /** Something became due this moment: sooner than the next heartbeat would tell. */
  lookSoon(): void { this.lookAt(this.#executor.databaseClock.nowMs() + 1) }

  /** A local worker; undefined when claims have stopped, or when this node is full and stands aside. */
  async #worker(task: ArmedTask, fireTime: number): Promise<(() => void) | undefined> {
    const { signal } = this.#stopClaims
    try {
      return await this.#workers.acquire(task.definition.priority, signal)
    } catch (error) {
      if (signal.aborted) return undefined
      if (!isSchedError(error, 'SCHED_WORKERS_BUSY')) throw error
      this.#executor.events.emit('slot.left', { task: task.name, fireTime, error })
      return undefined
    }
  }

  /** Nothing escapes a timer: what fails is an event, and the scheduler goes on. */
  #track(work: Promise<void>, where: string): void {
    const settled: Promise<void> = work.catch((error: unknown) => {
      if (isSchedError(error, 'SCHED_STOPPED') && this.#stopClaims.signal.aborted) return
      this.#executor.events.emit('error', { error: asError(error), where })
    }).finally(() => { this.#running.delete(settled) })
    this.#running.add(settled)
  }
}
