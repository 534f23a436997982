import { carryOn, replaceUncarried, uncarriedTasks } from '../ledger/adopt.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Carrier } from '../ledger/tasks.ts'
import type { TaskDefinition } from './task-definition.ts'
import { registrationOf } from './task-spec.ts'

// A node that carries the stored definition speaks up at its next heartbeat; only when none did, it gives way.
const heartbeatsToWait = 3

/** Looks after definitions whose carrier died: carried on by whoever has the same one, replaced when nobody has. */
export class CarriedDefinitions {
  readonly #ledger: Ledger
  readonly #definitions: ReadonlyMap<string, TaskDefinition>
  readonly #seen = new Map<string, number>()

  constructor(ledger: Ledger, definitions: readonly TaskDefinition[]) {
    this.#ledger = ledger
    this.#definitions = new Map(definitions.map((definition) => [definition.name, definition]))
  }

  /** One round per heartbeat that found any. */
  async look(node: Carrier): Promise<void> {
    const found = await uncarriedTasks(this.#ledger)
    const names = new Set(found.map(({ taskName }) => taskName))
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name)
    for (const task of found) {
      const mine = this.#definitions.get(task.taskName)
      if (mine === undefined) continue
      const rounds = (this.#seen.get(task.taskName) ?? 0) + 1
      this.#seen.set(task.taskName, rounds)
      const registration = registrationOf(mine)
      if (registration.definitionHash(task.override) === task.definitionHash) await carryOn(this.#ledger, task, node)
      else if (rounds > heartbeatsToWait) await replaceUncarried(this.#ledger, task, registration, node)
    }
  }
}
