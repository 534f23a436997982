import type { TaskRow } from '../ledger/tasks.ts'
import { jitterMs } from '../schedule/jitter.ts'
import type { TaskDefinition } from './task-definition.ts'
import { withOverride } from './task-spec.ts'

/** A task of this node beside its row in the ledger, as last read. */
export class ArmedTask {
  readonly #base: TaskDefinition
  readonly jitterMs: number
  #definition: TaskDefinition
  #row: TaskRow
  /** Up to when (database time) fire times may be left that nobody claimed; a scan must have looked that far. */
  unsettledUntil: number = -Infinity
  /** A scan since time was last lost has found a row for every fire time up to here: the next begins behind it. */
  seenUntil: number = -Infinity
  /** A slot was found that its claimer has not started; a scan must have settled it. */
  orphaned = false
  /** The latest of them, where slots may wait in a queue as well. */
  orphanedUntil: number = -Infinity
  /** A slot that was seen waiting, too late, though nothing of the task ran. */
  waitedTooLong: { readonly fireTime: number; readonly seenAt: number } | undefined

  constructor(base: TaskDefinition, row: TaskRow) {
    this.#base = base
    this.jitterMs = jitterMs(base.name, base.jitterMs)
    this.#row = row
    this.#definition = withOverride(base, row.override)
  }

  get name(): string { return this.#base.name }

  /** The effective definition: this code's, with a schedule that was set at run time. */
  get definition(): TaskDefinition { return this.#definition }

  get row(): TaskRow { return this.#row }

  set row(row: TaskRow) {
    if (row.override !== this.#row.override) {
      this.#definition = withOverride(this.#base, row.override)
      this.seenUntil = -Infinity
    }
    this.#row = row
  }

  /** The ledger's definition is this node's own; otherwise another build rules, and this node claims nothing of the task. */
  get carried(): boolean { return this.#row.definitionHash === this.#definition.hash }

  get claimable(): boolean { return this.carried && this.#row.state === 'active' }

  /** A person may run a task that is paused or stalled, or an execution of it. */
  startable(byHand: boolean): boolean {
    return this.claimable || (this.carried && byHand && this.#row.state !== 'retired')
  }

  /** What of it this node may start, of what waits. */
  get startableNow(): 'all' | 'no-slots' | 'by-hand' {
    if (!this.claimable) return 'by-hand'
    return this.queues ? 'all' : 'no-slots'
  }

  /** One run at a time: what is refused waits for the gate, or is skipped. */
  get gated(): boolean { return this.#definition.overlap !== 'allow' }

  /**
   * Refused slots of the schedule wait for their turn instead of being skipped. Where they do not, one that is seen waiting was claimed by an instance
   * that has not started it in time: it is left to the scan, and so to the misfire policy.
   */
  get queues(): boolean {
    const { overlap, misfire } = this.#definition
    return overlap === 'queue-one' || overlap === 'cancel-previous' || (misfire === 'run-all' && this.gated)
  }
}
