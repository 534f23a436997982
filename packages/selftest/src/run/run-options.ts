import type { CreateLocks } from '../library.ts'

export interface RunOptions {
  /** The URL that led to the dialect: shown without its secrets, which are kept out of every text. */
  readonly url?: string
  /** Allows the cases that end a server session, always one of their own. Default false. */
  readonly allowKill?: boolean
  /** The lease of the cases that wait for the end of one. Default 2,000; at least 1,000. */
  readonly leaseMs?: number
  /** Ends the run early; what was opened is given back all the same. */
  readonly signal?: AbortSignal
  /** The library that the cases about it as a whole are run on. Default: `createLocks` of @sched/core. */
  readonly createLocks?: CreateLocks
}

export const defaultLeaseMs = 2_000
export const shortestLeaseMs = 1_000
