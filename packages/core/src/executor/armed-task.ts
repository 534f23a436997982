import type { ExecutionRow } from '../ledger/execution-row.ts'
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
    if (row.override !== this.#row.override) this.#definition = withOverride(this.#base, row.override)
    this.#row = row
  }

  /** The ledger's definition is this node's own; otherwise another build rules, and this node claims nothing of the task. */
  get carried(): boolean { return this.#row.definitionHash === this.#definition.hash }

  get claimable(): boolean { return this.carried && this.#row.state === 'active' }

  /** A person may run a task that is paused or stalled. */
  startable(execution: ExecutionRow): boolean {
    return this.claimable || (this.carried && execution.origin === 'manual' && this.#row.state !== 'retired')
  }

  /** Refused slots wait for their turn instead of being skipped. */
  get queues(): boolean {
    const { overlap, misfire } = this.#definition
    return overlap === 'queue-one' || overlap === 'cancel-previous' || (misfire === 'run-all' && overlap !== 'allow')
  }
}
