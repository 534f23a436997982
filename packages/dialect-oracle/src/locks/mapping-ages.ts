import { mappingSeconds } from './lock-blocks.ts'

// A tenth of the time a mapping is kept: nine more refreshes of a day may fail before one is in danger.
const renewAfterMs = mappingSeconds * 1_000 / 10
/** So that a refresh stays short however many locks are held: with the default heartbeat a thousand names are through in minutes. */
const mostPerRefresh = 50

/**
 * When each name of a session was last allocated, by the database's clock: the mapping from name to number may be deleted ten days
 * later, and the next session to ask would be given another number, and the lock a second time.
 */
export class MappingAges {
  readonly #allocatedAt = new Map<string, number>()

  allocated(lockName: string, dbNow: number): void { this.#allocatedAt.set(lockName, dbNow) }

  forget(lockName: string): void { this.#allocatedAt.delete(lockName) }

  /** Of these names the ones to be allocated again now, the oldest first; one that was never seen is older than all. */
  due(lockNames: readonly string[], dbNow: number): readonly string[] {
    const age = (lockName: string): number => this.#allocatedAt.get(lockName) ?? -Infinity
    return lockNames.filter((lockName) => dbNow - age(lockName) > renewAfterMs).sort((a, b) => age(a) - age(b)).slice(0, mostPerRefresh)
  }
}
