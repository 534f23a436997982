import { createLocks } from '@sched/core'
import type { LibraryOptions, Locks } from './library.ts'

/** The library as users have it. Its events say again what the results of the calls say: the cases look at those. */
export function coreLocks({ dialect, namespace, leaseMs, heartbeatMs, tables }: LibraryOptions): Locks {
  return createLocks({ dialect, namespace, leaseMs, heartbeatMs, tables, onEvent: () => undefined })
}
