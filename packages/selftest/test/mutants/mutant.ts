import type { Dialect } from '@sched/core/spi'
import type { CreateLocks } from '../../src/library.ts'

/** What a mutant is made from. Those on PostgreSQL need a server. */
export type Base = 'sqlite' | 'postgres' | 'postgres-oldest'

/** Where a mutant leaves what it should have ended: ended after its run. */
export interface Litter { leave(leftover: { destroy(): void } | { close(): Promise<void> }): void }

/** A dialect, or a library, that is broken on purpose in one way. */
export interface Mutant {
  /** What is wrong with it, as a few words. */
  readonly name: string
  readonly base: Base
  readonly dialect?: (base: Dialect, litter: Litter) => Dialect
  readonly createLocks?: (real: CreateLocks, litter: Litter) => CreateLocks
  /** Ids of cases that must fail on it; `ID/opposite` where the opposite is what runs. */
  readonly kills: readonly string[]
}

