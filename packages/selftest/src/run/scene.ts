import type { Dialect, LockDiagnostics, LockConnection, LockSource, Tables } from '@sched/core/spi'
import type { Facts } from '../facts.ts'
import type { CreateLocks } from '../library.ts'
import type { TargetSecrets } from './secrets.ts'

/** What all cases of one run share. */
export interface Scene {
  readonly dialect: Dialect
  readonly source: LockSource
  readonly facts: Facts
  readonly createLocks: CreateLocks
  /** Of this run alone: `selftest-` and random letters. */
  readonly namespace: string
  /** The prefix of the tables of this run, made for it and dropped after it. */
  readonly tablePrefix: string
  readonly tables: Tables | undefined
  readonly sharedSessions: boolean
  readonly leaseMs: number
  readonly promptMs: number
  readonly secrets: TargetSecrets
  /** A connection of the run's own, opened again when it is lost. */
  janitor<T>(work: (connection: LockConnection) => Promise<T>): Promise<T>
  /** Asks the diagnostics on that connection. */
  observe<T>(question: (diagnostics: LockDiagnostics, connection: LockConnection) => Promise<T>): Promise<T>
}

/** Long enough that no pause of a case ends it; the cases that wait for an end say a lease of their own. */
export const quietLeaseMs = 60_000
