import { carryOn, replaceUncarried, uncarriedTasks, type Uncarried } from '../ledger/adopt.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Carrier } from '../ledger/tasks.ts'
import type { TaskDefinition } from './task-definition.ts'
import { registrationOf } from './task-spec.ts'

// A node that carries the stored definition speaks up at its next heartbeat; only when none did, it gives way.
const heartbeatsToWait = 3
const longestPause = 64

/** Looks after definitions and tombstones whose carrier died: carried on by whoever agrees with them, replaced when nobody does. */
export class CarriedDefinitions {
  readonly #ledger: Ledger
  readonly #definitions: ReadonlyMap<string, TaskDefinition>
  readonly #seen = new Map<string, number>()
  /** How many the last round found, when none of them was this node's concern: another service's, or removed without revisions. */
  #foreign: number | undefined
  /** In heartbeats. */
  #pause = 0
  #paused = 0

  constructor(ledger: Ledger, definitions: readonly TaskDefinition[]) {
    this.#ledger = ledger
    this.#definitions = new Map(definitions.map((definition) => [definition.name, definition]))
  }

  /** Whether this heartbeat is worth a round. As long as there are as many as the last round found, and those are others', less and less. */
  due(uncarried: number): boolean {
    if (uncarried === this.#foreign && this.#paused < this.#pause) {
      this.#paused += 1
      return false
    }
    this.#pause = uncarried === this.#foreign ? Math.min(longestPause, 2 * this.#pause) : 1
    this.#paused = 0
    return uncarried > 0
  }

  /** True when a definition of this node took the place of another: it may claim now. */
  async look(node: Carrier): Promise<boolean> {
    const found = await uncarriedTasks(this.#ledger)
    const names = new Set(found.map(({ taskName }) => taskName))
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name)
    const agreed: Uncarried[] = []
    let waiting = 0
    let replaced = false
    for (const task of found) {
      const mine = this.#definitions.get(task.taskName)
      const registration = mine && registrationOf(mine)
      if (task.retired ? mine === undefined && node.revision >= task.revision : registration?.definitionHash(task.override) === task.definitionHash) {
        agreed.push(task)
        continue
      }
      if (registration === undefined) continue
      waiting += 1
      const rounds = (this.#seen.get(task.taskName) ?? 0) + 1
      this.#seen.set(task.taskName, rounds)
      if (rounds > heartbeatsToWait && await replaceUncarried(this.#ledger, task, registration, node)) replaced = true
    }
    await carryOn(this.#ledger, agreed, node)
    this.#foreign = agreed.length + waiting === 0 ? found.length : undefined
    return replaced
  }
}
