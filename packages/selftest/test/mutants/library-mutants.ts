import { SchedError } from '@sched/core/spi'
import type { CreateLocks, Lease, Locks } from '../../src/library.ts'
import type { Mutant } from './mutant.ts'

/** A library with other members than the real one. */
const changed = (change: (real: Locks) => Partial<Locks>) => (createLocks: CreateLocks): CreateLocks => (options) => {
  const real = createLocks(options)
  const bound: Locks = {
    tryAcquire: (name) => real.tryAcquire(name), acquire: (name, how) => real.acquire(name, how), inspect: (name) => real.inspect(name), close: () => real.close(),
  }
  return { ...bound, ...change(bound) }
}

export const libraryMutants: readonly Mutant[] = [
  {
    name: 'a library that does not wait', base: 'sqlite', kills: ['WAI-09', 'WAI-10'],
    createLocks: changed((real) => ({ async acquire(name) {
      const outcome = await real.tryAcquire(name)
      if (outcome.status === 'acquired') return outcome.lease
      throw new SchedError('SCHED_LOCK_TIMEOUT', 'given up at once.')
    } })),
  },
  { name: 'a library that ignores its signal', base: 'sqlite', kills: ['WAI-11', 'RES-05'], createLocks: changed((real) => ({ acquire: (name, { waitMs }) => real.acquire(name, { waitMs }) })) },
  {
    name: 'a library that learns of a loss by events alone', base: 'sqlite', kills: ['LOS-05'],
    createLocks: changed((real) => ({ async acquire(name, how) {
      const lease = await real.acquire(name, how)
      const late = new AbortController()
      lease.signal.addEventListener('abort', () => late.abort(lease.signal.reason))
      return { owner: lease.owner, fencingToken: lease.fencingToken, signal: late.signal, release: () => lease.release() }
    } })),
  },
  {
    name: 'a library that is re-entrant', base: 'sqlite', kills: ['CNT-04', 'CNT-05'],
    createLocks: changed((real) => {
      const held = new Map<string, Promise<Lease>>()
      const acquire: Locks['acquire'] = async (name, how) => {
        const granted = held.get(name) ?? real.acquire(name, how)
        held.set(name, granted)
        const lease = await granted
        return { owner: lease.owner, fencingToken: lease.fencingToken, signal: lease.signal, release: () => { held.delete(name); return lease.release() } }
      }
      return { acquire, tryAcquire: async (name) => ({ status: 'acquired', lease: await acquire(name, { waitMs: 0 }) }) }
    }),
  },
  {
    name: 'a library with a session for each lock', base: 'postgres', kills: ['PIN-05', 'PIN-06'],
    createLocks: (createLocks, litter) => (options) => {
      const fresh = (): Locks => { const locks = createLocks(options); litter.leave(locks); return locks }
      return { tryAcquire: (name) => fresh().tryAcquire(name), acquire: (name, how) => fresh().acquire(name, how), inspect: (name) => fresh().inspect(name), close: async () => undefined }
    },
  },
  {
    name: 'a library that closes nothing', base: 'sqlite', kills: ['RES-04'],
    createLocks: (createLocks, litter) => (options) => {
      const real = createLocks(options)
      litter.leave(real)
      return { tryAcquire: (name) => real.tryAcquire(name), acquire: (name, how) => real.acquire(name, how), inspect: (name) => real.inspect(name), close: async () => undefined }
    },
  },
]
