import type { Dialect, LockHolder } from '@sched/core/spi'

/** The part of a lease that the cases use. */
export interface Lease {
  readonly signal: AbortSignal
  readonly owner: string
  readonly fencingToken?: number | undefined
  release(): Promise<{ readonly status: 'released' | 'lost' }>
}

/** The part of `createLocks` that the cases use. */
export interface Locks {
  tryAcquire(name: string): Promise<{ readonly status: 'acquired'; readonly lease: Lease } | { readonly status: 'refused' }>
  acquire(name: string, options: { waitMs: number; signal?: AbortSignal }): Promise<Lease>
  inspect(name: string): Promise<LockHolder | null>
  close(): Promise<void>
}

export interface LibraryOptions {
  readonly dialect: Dialect
  readonly namespace: string
  readonly leaseMs: number
  readonly heartbeatMs: number
  readonly tables: { readonly prefix: string }
}

/** How the cases about the library as a whole get their locks. The suite's own tests put broken libraries in its place. */
export type CreateLocks = (options: LibraryOptions) => Locks
