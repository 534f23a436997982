import { randomUUID } from 'node:crypto'
import { asError, isSchedError } from '../errors.ts'
import { dueExecutions } from '../ledger/due.ts'
import type { ExecutionRow } from '../ledger/execution-row.ts'
import { insertSlot } from '../ledger/slot.ts'
import { readTasks, type TaskRow } from '../ledger/tasks.ts'
import { jitterMs } from '../schedule/jitter.ts'
import { Agenda } from './agenda.ts'
import { runAttempt } from './attempt.ts'
import type { Executor } from './executor.ts'
import { maxClaimAgeMs, settleMissedSlots } from './missed-scan.ts'
import type { TaskDefinition } from './task-definition.ts'
import { Workers } from './workers.ts'

interface Armed { readonly definition: TaskDefinition; readonly jitterMs: number; row: TaskRow; unsettled: boolean }

export interface DispatcherHooks {
  /** The node's lease turned out to be over: look at it now. */
  onUnregistered(): void
  /** The database's clock must be read anew before anything fires. */
  resample(): Promise<void>
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
  readonly #tasks = new Map<string, Armed>()
  readonly #running = new Set<Promise<void>>()
  readonly #inHand = new Set<string>()
  readonly #stopClaims = new AbortController()
  #looking: Promise<void> | undefined
  #settling: Promise<void> | undefined
  #settleAgain = false

  constructor(executor: Executor, concurrency: number, hooks: DispatcherHooks) {
    this.#executor = executor
    this.#hooks = hooks
    this.#agenda = new Agenda(executor.clock, () => executor.databaseClock.nowMs())
    this.#workers = new Workers(concurrency)
  }

  get busy(): number { return this.#workers.busy }

  /** Attempts and claims that have not come to an end. */
  get unsettled(): number { return this.#running.size }

  /** Arms the tasks; what is too late for a claim is the scan's. */
  arm(definitions: readonly TaskDefinition[], rows: ReadonlyMap<string, TaskRow>): void {
    for (const definition of definitions) {
      const row = rows.get(definition.name) as TaskRow
      const armed: Armed = { definition, jitterMs: jitterMs(definition.name, definition.jitterMs), row, unsettled: true }
      this.#tasks.set(definition.name, armed)
      // What fired since the last slot that a scan may settle is still to be claimed, unless the task is younger.
      this.#armNext(armed, Math.max(row.armedFrom, this.#executor.databaseClock.nowMs() - armed.jitterMs - this.#lateMs))
    }
  }

  /** Definitions or states changed: this node claims only what it agrees with. */
  async reload(): Promise<void> {
    const rows = await readTasks(this.#executor.ledger)
    for (const armed of this.#tasks.values()) {
      const row = rows.get(armed.definition.name)
      if (row === undefined) continue
      const superseded = row.definitionHash !== armed.definition.hash
      if (superseded && armed.row.definitionHash === armed.definition.hash) this.#executor.events.emit('definition.superseded', { task: armed.definition.name })
      armed.row = row
    }
  }

  /** Looks for due retries and orphaned slots at `at` (database time). */
  lookAt(at: number): void {
    this.#agenda.setEarliest('due', at, () => this.#track(this.#look(), 'looking for due executions'))
  }

  /** Time was lost (start, outage, new life): every task is scanned for slots that nobody claimed. */
  timeLost(): void {
    for (const armed of this.#tasks.values()) armed.unsettled = true
    this.settle()
  }

  /** Settles the missed slots of tasks that need it. */
  settle(): void {
    if (this.#stopClaims.signal.aborted) return
    if (this.#settling !== undefined) {
      this.#settleAgain = true
      return
    }
    this.#settling = this.#settleAll().finally(() => {
      this.#settling = undefined
      if (this.#settleAgain) this.settle()
    })
    this.#track(this.#settling, 'settling missed slots')
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

  #armNext(armed: Armed, after: number): void {
    const fireTime = armed.definition.schedule.next(after)
    if (fireTime === null) return
    this.#agenda.set(`task:${armed.definition.name}`, fireTime + armed.jitterMs, () => {
      const now = this.#executor.databaseClock.nowMs()
      const late = now - fireTime - armed.jitterMs > this.#lateMs
      // A loop that was blocked over many fire times must not claim them all.
      this.#armNext(armed, late ? now - armed.jitterMs - this.#lateMs : fireTime)
      if (late) this.#leaveToScan(armed)
      else this.#track(this.#claim(armed, fireTime), `claiming a slot of ${armed.definition.name}`)
    })
  }

  /** Beyond this a slot is the scan's: until then it cannot be settled by another node. */
  get #lateMs(): number { return Math.max(this.#executor.heartbeatMs, 1000) }

  async #claim(armed: Armed, fireTime: number): Promise<void> {
    const { executor, definition } = { executor: this.#executor, definition: armed.definition }
    if (!claimable(armed)) return
    if (executor.databaseClock.suspicious) await this.#hooks.resample()
    const dueAt = fireTime + armed.jitterMs
    const now = executor.databaseClock.nowMs()
    if (now < dueAt) return this.#claimLater(armed, fireTime)
    const free = await this.#worker(definition)
    if (free === undefined) return
    try {
      if (executor.databaseClock.nowMs() - dueAt > this.#lateMs || executor.life.judge() !== undefined) return this.#leaveToScan(armed)
      const executionId = randomUUID()
      const slot = await insertSlot(executor.ledger, { executionId, taskName: definition.name, definitionHash: definition.hash, fireTime, dueAt, maxClaimAgeMs: maxClaimAgeMs(definition, executor.leaseMs), toleranceMs })
      if (slot.status === 'ineligible') await this.#ineligible(armed, fireTime, slot.dbNow)
      if (slot.status !== 'won') return
      await this.#attempt(armed, { executionId, taskName: definition.name, fireTime, dueAt, state: 'pending', origin: 'scheduled', attemptReason: null, attempt: 0, crashCount: 0 })
    } catch (error) {
      // Whether the slot is ours is unknown: the row, if there is one, is found as due; if there is none, the scan finds the hole.
      this.#leaveToScan(armed)
      throw error
    } finally {
      free()
    }
  }

  async #again(armed: Armed, fireTime: number): Promise<void> {
    this.#armNext(armed, fireTime)
    await this.#claim(armed, fireTime)
  }

  /** The guards of the slot did not hold: our clock is ahead of the database, or the task has changed. */
  async #ineligible(armed: Armed, fireTime: number, dbNow: number): Promise<void> {
    if (fireTime <= dbNow) return this.reload()
    await this.#hooks.resample()
    this.#claimLater(armed, fireTime)
  }

  #claimLater(armed: Armed, fireTime: number): void {
    const { name } = armed.definition
    this.#agenda.set(`task:${name}`, fireTime + armed.jitterMs, () => this.#track(this.#again(armed, fireTime), `claiming a slot of ${name}`))
  }

  async #attempt(armed: Armed, row: ExecutionRow): Promise<void> {
    this.#inHand.add(row.executionId)
    try {
      const outcome = await runAttempt(this.#executor, armed.definition, row)
      if (outcome.status === 'again') this.lookAt(outcome.at)
      else if (outcome.status === 'ineligible') await this.reload()
      else if (outcome.status === 'unregistered') this.#hooks.onUnregistered()
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
    const armed = this.#tasks.get(row.taskName)
    if (armed === undefined || !claimable(armed) || this.#inHand.has(row.executionId)) return
    this.#inHand.add(row.executionId)
    this.#track(this.#startExisting(armed, row), `starting an execution of ${row.taskName}`)
  }

  async #startExisting(armed: Armed, row: ExecutionRow): Promise<void> {
    const free = await this.#worker(armed.definition)
    if (free === undefined) return void this.#inHand.delete(row.executionId)
    try {
      await this.#attempt(armed, row)
    } finally {
      free()
    }
  }

  /** Something became due this moment: sooner than the next heartbeat would tell. */
  lookSoon(): void { this.lookAt(this.#executor.databaseClock.nowMs() + 1) }

  async #settleAll(): Promise<void> {
    this.#settleAgain = false
    for (const armed of this.#tasks.values()) {
      if (!armed.unsettled || this.#stopClaims.signal.aborted) continue
      armed.unsettled = false
      try {
        await this.#settleOne(armed)
      } catch (error) {
        this.#leaveToScan(armed)
        throw error
      }
    }
  }

  async #settleOne(armed: Armed): Promise<void> {
    const row = (await this.#freshRow(armed)) ?? armed.row
    if (!claimable({ ...armed, row })) return
    const outcome = await settleMissedSlots(this.#executor, armed.definition, row)
    if (outcome === null) return
    if (outcome.missed > 0 || outcome.caughtUp !== undefined) this.#executor.events.emit('slot.missed', { task: armed.definition.name, count: outcome.missed, caughtUp: outcome.caughtUp })
    if (outcome.caughtUp !== undefined) this.lookSoon()
  }

  async #freshRow(armed: Armed): Promise<TaskRow | undefined> {
    const { ledger: { tables, store, namespace } } = this.#executor
    const { rows: [row] } = await store.run('reading a task', { text: `SELECT definition_hash, revision, state, armed_from FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`, params: [namespace, armed.definition.name] })
    if (row === undefined) return undefined
    armed.row = { taskName: armed.definition.name, definitionHash: row['definition_hash'] as string, revision: row['revision'] as number, state: row['state'] as TaskRow['state'], armedFrom: row['armed_from'] as number }
    return armed.row
  }

  #leaveToScan(armed: Armed): void {
    armed.unsettled = true
    // Not before the slot is old enough for the scan.
    this.#agenda.setEarliest('settle', this.#executor.databaseClock.nowMs() + this.#lateMs, () => this.settle())
  }

  /** A local worker, or undefined when claims have stopped meanwhile. */
  async #worker(definition: TaskDefinition): Promise<(() => void) | undefined> {
    const { signal } = this.#stopClaims
    try {
      return await this.#workers.acquire(definition.priority, signal)
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
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

/** The stored definition is this node's own, and the task is active. */
function claimable({ row, definition }: Armed): boolean {
  return row.state === 'active' && row.definitionHash === definition.hash
}
