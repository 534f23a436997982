import { asError, isSchedError } from '../errors.ts'
import { readTask, readTasks, touchRegistry, type TaskRow } from '../ledger/tasks.ts'
import { errorClassOf } from '../session/classified-error.ts'
import { transient } from '../spi/error-class.ts'
import type { Agenda } from './agenda.ts'
import type { ArmedTask } from './armed-task.ts'
import type { Executor } from './executor.ts'
import { settleMissedSlots } from './missed-scan.ts'

export interface SettlerHooks {
  readonly stopped: () => boolean
  /** Work that must be waited for at the end; its errors become events. */
  readonly track: (work: Promise<void>, where: string) => void
  /** A task's row as it is in the ledger now. */
  readonly refresh: (task: ArmedTask, row: TaskRow) => void
  /** Tasks are gone from the ledger: they are registered anew. */
  readonly reload: () => Promise<void>
  /** A slot became due this moment. */
  readonly dueNow: () => void
}

/** Settles, task by task, the fire times that nobody claimed or started: after a start, an outage, a lost lease, or a slot this node was too late for. */
export class MissedSettler {
  readonly #executor: Executor
  readonly #agenda: Agenda
  readonly #tasks: ReadonlyMap<string, ArmedTask>
  readonly #lateMs: number
  readonly #hooks: SettlerHooks
  #settling: Promise<void> | undefined
  #again = false

  constructor(executor: Executor, agenda: Agenda, tasks: ReadonlyMap<string, ArmedTask>, lateMs: number, hooks: SettlerHooks) {
    this.#executor = executor
    this.#agenda = agenda
    this.#tasks = tasks
    this.#lateMs = lateMs
    this.#hooks = hooks
  }

  /** Time was lost: every task is looked at. */
  all(): void {
    for (const task of this.#tasks.values()) {
      // The database may be another, a replica that took over without the last rows.
      task.seenUntil = -Infinity
      this.#lost(task)
    }
    this.#settle()
  }

  /** One task, as soon as the slots of now, and `fireTime`, are old enough for a scan. */
  later(task: ArmedTask, fireTime?: number): void {
    this.#lost(task, fireTime)
    this.#ringFor(task)
  }

  /** One slot, late already, that its claimer has not started. */
  orphan(task: ArmedTask, fireTime: number): void {
    task.orphaned = true
    task.orphanedUntil = Math.max(task.orphanedUntil, fireTime)
    task.unsettledUntil = Math.max(task.unsettledUntil, fireTime)
    this.#settle()
  }

  /** The larger one stays: the database's clock may have stepped back since. */
  #lost(task: ArmedTask, fireTime = -Infinity): void {
    task.unsettledUntil = Math.max(task.unsettledUntil, fireTime, this.#executor.databaseClock.nowMs())
  }

  #ringFor({ unsettledUntil, jitterMs }: ArmedTask): void {
    this.#agenda.setEarliest('settle', unsettledUntil + this.#lateMs + jitterMs, () => this.#settle())
  }

  #settle(): void {
    if (this.#hooks.stopped()) return
    if (this.#settling !== undefined) {
      this.#again = true
      return
    }
    this.#settling = this.#settleAll().finally(() => {
      this.#settling = undefined
      if (this.#again) this.#settle()
    })
    this.#hooks.track(this.#settling, 'settling missed slots')
  }

  async #settleAll(): Promise<void> {
    this.#again = false
    const waiting = [...this.#tasks.values()].filter(({ unsettledUntil }) => unsettledUntil !== -Infinity)
    try {
      await this.#refresh(waiting)
      for (const task of waiting) {
        if (this.#hooks.stopped()) return
        try {
          await this.#settleThis(task)
        } catch (error) {
          if (!ofOneTask(error)) throw error
          this.later(task)
          this.#hooks.track(Promise.reject(asError(error)), `settling missed slots of ${task.name}`)
        }
      }
    } catch (error) {
      for (const task of waiting) if (task.unsettledUntil !== -Infinity) this.later(task)
      throw error
    }
  }

  async #settleThis(task: ArmedTask): Promise<void> {
    // A slot with jitter is claimed by so much later.
    const until = Math.floor(this.#executor.databaseClock.nowMs() - this.#lateMs - task.jitterMs)
    await this.#settleOne(task, until)
    // What became late meanwhile, and what a scan of now may not settle yet, is looked at again.
    if (task.unsettledUntil > until) this.#ringFor(task)
    else {
      task.unsettledUntil = -Infinity
      task.orphaned = false
    }
  }

  /** After a start or an outage every task is looked at: one read for all, obeyed at once. Older than what a reload has read it would mislead. False when one has no row. */
  async #refresh(waiting: readonly ArmedTask[]): Promise<boolean> {
    const { ledger } = this.#executor
    const rows = waiting.length > 1 ? [...(await readTasks(ledger)).values()] : await Promise.all(waiting.map(({ name }) => readTask(ledger, name)))
    for (const row of rows) {
      const task = row === undefined ? undefined : this.#tasks.get(row.taskName)
      if (task !== undefined && row !== undefined) this.#hooks.refresh(task, row)
    }
    return rows.every((row) => row !== undefined)
  }

  async #settleOne(task: ArmedTask, until: number): Promise<void> {
    const { ledger, events } = this.#executor
    if (!task.claimable) return
    const outcome = await settleMissedSlots(this.#executor, task, until)
    if (outcome === null) return
    if (outcome === 'overtaken') {
      if (!await this.#refresh([task])) return this.#hooks.reload()
      return this.#settleOne(task, until)
    }
    const { missed, caughtUp, stalled, more } = outcome
    if (missed > 0 || caughtUp.length > 0) events.emit('slot.missed', { task: task.name, count: missed, caughtUp: caughtUp.at(-1) })
    if (stalled) {
      await touchRegistry(ledger, 'change')
      events.emit('task.stalled', { task: task.name, reason: `${missed} fire times were missed` })
    }
    if (caughtUp.length > 0) this.#hooks.dueNow()
    if (!more) return
    await this.#refresh([task])
    return this.#settleOne(task, until)
  }
}

/** What says nothing about the tasks behind it: somebody holds the task's row, or its schedule cannot be computed. An outage stops them all. */
function ofOneTask(error: unknown): boolean {
  const errorClass = errorClassOf(error)
  if (errorClass === undefined) return !isSchedError(error)
  return transient.has(errorClass) || errorClass === 'duplicate-key' || errorClass === 'unknown'
}
