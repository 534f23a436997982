import { randomUUID } from 'node:crypto'
import { asError, isSchedError } from '../errors.ts'
import { dueExecutions, dueTasks, type DueTask } from '../ledger/due.ts'
import type { ExecutionRow } from '../ledger/execution-row.ts'
import { insertSlot } from '../ledger/slot.ts'
import { gateTaken } from '../ledger/start.ts'
import { readTasks, type TaskRow } from '../ledger/tasks.ts'
import { sleep } from '../time/wait.ts'
import { Agenda } from './agenda.ts'
import { ArmedTask } from './armed-task.ts'
import { runAttempt, type AttemptOutcome } from './attempt.ts'
import { coalesced } from './coalesced.ts'
import { DueLooks, type Waiting } from './due-looks.ts'
import type { Executor } from './executor.ts'
import { maxClaimAgeMs, tooLateForQueue } from './missed-scan.ts'
import { MissedSettler } from './missed-settler.ts'
import type { TaskDefinition } from './task-definition.ts'
import { nextInQueue } from './task-queue.ts'
import { TaskWorkers, type Free } from './task-workers.ts'
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
  readonly #workers: TaskWorkers
  readonly #settler: MissedSettler
  readonly #dueLooks: DueLooks
  readonly #tasks = new Map<string, ArmedTask>()
  readonly #running = new Set<Promise<void>>()
  readonly #inHand = new Set<string>()
  readonly #atWorkers = new Set<ArmedTask>()
  readonly #stopClaims = new AbortController()
  /** The latest moment of the database's that a timer of the schedule has rung for. */
  #rungUntil = -Infinity
  #looking: Promise<void> | undefined

  constructor(executor: Executor, workers: Workers, hooks: DispatcherHooks) {
    this.#executor = executor
    this.#hooks = hooks
    this.#agenda = new Agenda(executor.clock, () => executor.databaseClock.nowMs())
    this.#workers = new TaskWorkers(executor, workers, this.#stopClaims.signal)
    this.#dueLooks = new DueLooks(this.#lateMs)
    this.#settler = new MissedSettler(executor, this.#agenda, this.#tasks, this.#lateMs, {
      stopped: () => this.#stopClaims.signal.aborted, track: (work, where) => this.#track(work, where), refresh: (task, row) => this.#refresh(task, row), reload: () => this.reload(), dueNow: () => this.lookSoon(),
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

  /** Definitions or states changed: this node claims only what it agrees with. One read serves all who ask for it at the same time. */
  readonly reload: () => Promise<void> = coalesced(() => this.#reload())

  async #reload(): Promise<void> {
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
    const { carried, claimable, row: { override } } = task
    task.row = row
    this.#dueLooks.reset()
    if (carried && !task.carried) this.#executor.events.emit('definition.superseded', { task: task.name })
    if (row.override === override && (claimable || !task.claimable)) return
    // The timer may have gone by what is still to come, for a database whose clock stepped back; and what has passed by may be nobody's.
    this.#rearm(task)
    this.#settler.later(task)
  }

  /** What waits, as a heartbeat told it: looked for when it is due, unless none of it is for this node. */
  told(waiting: Waiting): void { if (this.#dueLooks.due(waiting)) this.lookAt(waiting.nearestDueAt as number) }

  /** Looks for due retries and orphaned slots at `at` (database time). */
  lookAt(at: number): void {
    this.#agenda.set(`due:${Math.ceil(at)}`, at, () => this.#track(this.#look(), 'looking for due executions'))
  }

  /** The database's clock was read: the timer was armed by what was known of it then, days ago perhaps. */
  clockRead(): void { this.#agenda.recheck() }

  /** Time was lost (start, outage, new life): every task is scanned for slots that nobody claimed. */
  timeLost(): void {
    // The database's clock has stepped back: what the timers have gone by is still to come.
    if (this.#executor.databaseClock.nowMs() < this.#rungUntil) for (const task of this.#tasks.values()) this.#rearm(task)
    this.#rungUntil = -Infinity
    this.#settler.all()
  }

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
      this.#rungUntil = Math.max(this.#rungUntil, fireTime + task.jitterMs)
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
    // Too late already, the one that waits will ask the scan for all that are: more of them would only pile up.
    if (this.#workers.waitedMs(task) > this.#lateMs) return
    const free = await this.#workers.acquireForClaim(task, fireTime)
    if (free === undefined) return this.#settler.later(task, fireTime)
    try {
      if (databaseClock.nowMs() - dueAt > this.#lateMs || this.#executor.life.judge() !== undefined) return this.#settler.later(task, fireTime)
      const executionId = randomUUID()
      const { definition } = task
      if (!task.claimable || definition.hash !== hash) return
      const slot = await insertSlot(ledger, { executionId, taskName: task.name, definitionHash: definition.hash, fireTime, dueAt, maxClaimAgeMs: maxClaimAgeMs(definition, leaseMs), toleranceMs })
      if (slot.status === 'ineligible') await this.#ineligible(task, fireTime, hash, slot.dbNow)
      if (slot.status !== 'won') return
      await this.#run(task, free, { executionId, taskName: task.name, fireTime, dueAt, state: 'pending', origin: 'scheduled', attemptReason: null, attempt: 0, crashCount: 0 })
    } catch (error) {
      // Whether the slot is ours is unknown: the row, if there is one, is found as due; if there is none, the scan finds the hole.
      this.#settler.later(task, fireTime)
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

  /** Runs an execution on the worker in hand, then what waits for the task's gate, until nothing may start, or until others have waited longer for the worker. */
  async #run(task: ArmedTask, free: Free, first?: ExecutionRow): Promise<void> {
    let next = first !== undefined && !(task.queues && task.claimable) ? first : await nextInQueue(this.#executor, task) ?? first
    for (let refused = 0; next !== undefined;) {
      const status = await this.#attempt(task, next)
      refused = status === 'waiting' ? refused + 1 : 0
      next = await this.#goesOn(task, status, refused) ? await nextInQueue(this.#executor, task) : undefined
      if (next !== undefined && status !== 'waiting' && this.#workers.outranks(task)) {
        free()
        return this.#startNext(task, { fireTime: next.fireTime, only: undefined })
      }
    }
  }

  /** Once more after a refusal: the gate may have become free just before the execution was seen waiting. Else whoever holds it goes on. */
  async #goesOn(task: ArmedTask, status: AttemptOutcome['status'], refused: number): Promise<boolean> {
    if (!task.gated || !task.startable(true) || this.#stopClaims.signal.aborted) return false
    if (status === 'waiting') return refused < 2 && !await gateTaken(this.#executor.ledger, task.name)
    return status === 'ended' || status === 'again'
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

  /** Single-flight: tasks of this node of which something is due get a worker. */
  #look(): Promise<void> {
    this.#looking ??= this.#startDue().finally(() => { this.#looking = undefined })
    return this.#looking
  }

  async #startDue(): Promise<void> {
    const looked = this.#dueLooks.begin()
    const found = await dueTasks(this.#executor.ledger, this.#lateMs)
    looked(found.some((due) => this.#tasks.get(due.taskName)?.startable(due.byHand)))
    for (const due of found) {
      if (this.#stopClaims.signal.aborted) return
      const task = this.#tasks.get(due.taskName)
      if (task?.startable(due.byHand) !== true || this.#waitsTooLong(task, due)) continue
      const orphan = task.claimable && !task.queues ? due.latestSlot : null
      if (orphan !== null) this.#settler.orphan(task, orphan)
      if (orphan !== null && !due.more) continue
      if (!task.gated) await this.#startEach(task, due.only)
      // Whoever holds the gate goes on with what waits, however much it is; only what ends the holder is not left to him.
      else if (!due.gateTaken || task.definition.overlap === 'cancel-previous') this.#startNext(task, due)
    }
  }

  /** A slot in a free queue that is beyond the misfire policy's window is the scan's, once a second look finds it still there: in between somebody may go on with it. */
  #waitsTooLong(task: ArmedTask, { latestSlot, gateTaken }: DueTask): boolean {
    const { databaseClock, leaseMs } = this.#executor
    const now = databaseClock.nowMs()
    const found = latestSlot !== null && !gateTaken && task.claimable && task.queues && !this.#atWorkers.has(task) && tooLateForQueue(task.definition, latestSlot, now, leaseMs)
    if (!found) task.waitedTooLong = undefined
    else if (task.waitedTooLong?.fireTime !== latestSlot) task.waitedTooLong = { fireTime: latestSlot, seenAt: now }
    else if (now - task.waitedTooLong.seenAt >= this.#lateMs / 2) this.#settler.orphan(task, latestSlot)
    return found
  }

  #startNext(task: ArmedTask, { fireTime, only }: Pick<DueTask, 'fireTime' | 'only'>): void {
    if (this.#atWorkers.has(task)) return
    this.#atWorkers.add(task)
    const worker = this.#workers.acquire(task, fireTime).finally(() => { this.#atWorkers.delete(task) })
    this.#track(this.#workers.run(worker, (free) => this.#run(task, free, only)), `starting an execution of ${task.name}`)
  }

  async #startEach(task: ArmedTask, only: ExecutionRow | undefined): Promise<void> {
    if (only !== undefined) return this.#startExisting(task, only)
    let after: ExecutionRow | undefined
    do {
      const rows: readonly ExecutionRow[] = await dueExecutions(this.#executor.ledger, task.name, { which: task.startableNow, most: dueBatch, after })
      for (const row of rows) this.#startExisting(task, row)
      after = rows.length === dueBatch ? rows.at(-1) : undefined
    } while (after !== undefined && !this.#stopClaims.signal.aborted)
  }

  #startExisting(task: ArmedTask, row: ExecutionRow): void {
    if (this.#inHand.has(row.executionId)) return
    this.#inHand.add(row.executionId)
    const started = this.#workers.run(this.#workers.acquire(task, row.fireTime), (free) => this.#run(task, free, row)).finally(() => { this.#inHand.delete(row.executionId) })
    this.#track(started, `starting an execution of ${row.taskName}`)
  }

  /** Something became due this moment: sooner than the next heartbeat would tell. */
  lookSoon(): void { this.lookAt(this.#executor.databaseClock.nowMs() + 1) }

  /** Nothing escapes a timer: what fails is an event, and the scheduler goes on. */
  #track(work: Promise<void>, where: string): void {
    const settled: Promise<void> = work.catch((error: unknown) => {
      if (isSchedError(error, 'SCHED_STOPPED') && this.#stopClaims.signal.aborted) return
      this.#executor.events.emit('error', { error: asError(error), where })
    }).finally(() => { this.#running.delete(settled) })
    this.#running.add(settled)
  }
}
