import { readTask, touchRegistry, type TaskRow } from '../ledger/tasks.ts'
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
  /** A slot became due this moment. */
  readonly dueNow: () => void
}

/** Settles, task by task, the fire times that nobody claimed: after a start, an outage, a lost lease, or a slot this node was too late for. */
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
    for (const task of this.#tasks.values()) this.#lost(task)
    this.#settle()
  }

  /** One task, as soon as the slots of now are old enough for a scan. */
  later(task: ArmedTask): void {
    this.#lost(task)
    this.#ringFor(task)
  }

  /** The larger one stays: the database's clock may have stepped back since. */
  #lost(task: ArmedTask): void {
    task.unsettledUntil = Math.max(task.unsettledUntil, this.#executor.databaseClock.nowMs())
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
    for (const task of this.#tasks.values()) {
      if (task.unsettledUntil === -Infinity || this.#hooks.stopped()) continue
      // A slot with jitter is claimed by so much later.
      const until = Math.floor(this.#executor.databaseClock.nowMs() - this.#lateMs - task.jitterMs)
      try {
        await this.#settleOne(task, until)
      } catch (error) {
        this.later(task)
        throw error
      }
      // What became late meanwhile, and what a scan of now may not settle yet, is looked at again.
      if (task.unsettledUntil > until) this.#ringFor(task)
      else task.unsettledUntil = -Infinity
    }
  }

  async #settleOne(task: ArmedTask, until: number): Promise<void> {
    const { ledger, events } = this.#executor
    const row = await readTask(ledger, task.name)
    if (row !== undefined) this.#hooks.refresh(task, row)
    if (!task.claimable) return
    const outcome = await settleMissedSlots(this.#executor, task.definition, task.row, until)
    if (outcome === null) return
    const { missed, caughtUp, stalled } = outcome
    if (missed > 0 || caughtUp.length > 0) events.emit('slot.missed', { task: task.name, count: missed, caughtUp: caughtUp.at(-1) })
    if (stalled) {
      await touchRegistry(ledger, 'change')
      events.emit('task.stalled', { task: task.name, reason: `${missed} fire times were missed` })
    }
    if (caughtUp.length > 0) this.#hooks.dueNow()
  }
}
