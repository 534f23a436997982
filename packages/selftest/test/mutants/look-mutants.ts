import type { LockConnection, LockHolder } from '@sched/core/spi'
import { altered } from './alter.ts'
import type { Mutant } from './mutant.ts'

export const lookMutants: readonly Mutant[] = [
  {
    name: 'tells the holder that another has it', base: 'sqlite', kills: ['HLD-01', 'TRY-01', 'TRY-05'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async isHeld(connection, holding) {
      const answer = await real.isHeld(connection, holding)
      return answer === 'mine' ? 'other' : answer
    } }) }),
  },
  {
    name: 'tells everybody that it is theirs', base: 'sqlite', kills: ['HLD-02'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async isHeld(connection, holding) {
      const answer = await real.isHeld(connection, holding)
      return answer === 'other' ? 'mine' : answer
    } }) }),
  },
  {
    name: 'believes its memory about what is held', base: 'sqlite', kills: ['HLD-03', 'HLD-04'],
    dialect: (base) => altered(base, { strategy: (real) => {
      const owners = new Set<string>()
      return {
        async tryLock(connection, request) {
          const outcome = await real.tryLock(connection, request)
          if (outcome.status === 'granted') owners.add(request.owner)
          return outcome
        },
        isHeld: async (connection, holding) => (owners.has(holding.owner) ? 'mine' : real.isHeld(connection, holding)),
      }
    } }),
  },
  {
    name: 'takes the lock to see whether it is free', base: 'sqlite', kills: ['HLD-05'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async isHeld(connection, holding) {
      const answer = await real.isHeld(connection, holding)
      if (answer === 'free') await real.tryLock(connection, { ...holding, ownerLabel: 'asking', leaseMs: 20_000 })
      return answer
    } }) }),
  },
  {
    name: 'claims to know the holder, and does not', base: 'sqlite', kills: ['HLD-06'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async isHeld(connection, holding) {
      const answer = await real.isHeld(connection, holding)
      return answer === 'mine' ? 'mine' : 'unknown'
    } }) }),
  },
  {
    name: 'remembers the last holder', base: 'sqlite', kills: ['INS-01', 'INS-06'],
    dialect: (base) => altered(base, { strategy: (real) => {
      const seen = new Map<string, LockHolder>()
      return {
        async tryLock(connection, request) {
          const outcome = await real.tryLock(connection, request)
          if (outcome.status === 'granted') seen.set(request.name.canonical, { owner: request.owner })
          return outcome
        },
        inspect: async (connection, name) => await real.inspect(connection, name) ?? seen.get(name.canonical) ?? null,
      }
    } }),
  },
  {
    name: 'names the session that asks', base: 'postgres', kills: ['INS-02', 'PIN-03'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async inspect(connection, name) {
      const holder = await real.inspect(connection, name)
      return holder === null || connection.id === undefined ? holder : { ...holder, sessionId: connection.id }
    } }) }),
  },
  {
    name: 'forgets the label of the owner', base: 'sqlite', kills: ['INS-03'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async inspect(connection, name) {
      const holder = await real.inspect(connection, name)
      return holder === null ? null : { ...holder, ownerLabel: '' }
    } }) }),
  },
  {
    name: 'knows no time', base: 'sqlite', kills: ['INS-04', 'LSE-05'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async inspect(connection, name) {
      const holder = await real.inspect(connection, name)
      return holder === null ? null : { ...holder, sinceAt: 1_700_000_000_000 }
    } }) }),
  },
  {
    name: 'names the waiter', base: 'postgres', kills: ['INS-05'],
    dialect: (base) => altered(base, { strategy: (real) => {
      const waiters = new Map<string, LockConnection>()
      return {
        async lock(connection, request, waitMs) {
          waiters.set(request.name.canonical, connection)
          try { return await real.lock!(connection, request, waitMs) } finally { waiters.delete(request.name.canonical) }
        },
        async inspect(connection, name) {
          const id = waiters.get(name.canonical)?.id
          return id === undefined ? real.inspect(connection, name) : { sessionId: id }
        },
      }
    } }),
  },
  {
    name: 'never finds a holder', base: 'postgres', kills: ['INS-02', 'INS-07'],
    dialect: (base) => altered(base, { strategy: () => ({ inspect: async () => null }) }),
  },
  {
    name: 'counts no locks', base: 'sqlite', kills: ['RES-01'],
    dialect: (base) => altered(base, { diagnostics: () => ({ locks: async () => 0 }) }),
  },
  {
    name: 'counts expired leases', base: 'sqlite', kills: ['RES-03'],
    dialect: (base) => {
      let granted = 0
      return altered(base, {
        strategy: (real) => ({ async tryLock(connection, request) {
          const outcome = await real.tryLock(connection, request)
          if (outcome.status === 'granted') granted += 1
          return outcome
        } }),
        diagnostics: () => ({ locks: async () => granted }),
      })
    },
  },
]
