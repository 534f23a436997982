import type { LockConnection, LockHolding, LockRequest, LockStrategy } from '@sched/core/spi'
import { altered, changedHoldings } from './alter.ts'
import type { Mutant } from './mutant.ts'

interface Held { readonly connection: LockConnection; readonly holding: LockHolding }

/** Remembers every grant, for mutants that do something with another's lock. */
export function remembering(real: LockStrategy, held: Map<string, Held>): Pick<LockStrategy, 'tryLock'> {
  return { async tryLock(connection: LockConnection, request: LockRequest) {
    const outcome = await real.tryLock(connection, request)
    if (outcome.status === 'granted') held.set(request.name.canonical, { connection, holding: { ...request, fencingToken: outcome.fencingToken } })
    return outcome
  } }
}

export const releaseMutants: readonly Mutant[] = [
  {
    name: 'says released and does nothing', base: 'sqlite', kills: ['REL-01', 'REL-05', 'WAI-09', 'TRY-07', 'RES-02'],
    dialect: (base) => altered(base, { strategy: () => ({ release: async () => ({ status: 'released' }) }) }),
  },
  {
    name: 'says released whatever happened', base: 'sqlite', kills: ['REL-02', 'REL-03', 'OWN-01'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async release(connection, holding) { await real.release(connection, holding); return { status: 'released' } } }) }),
  },
  {
    name: 'throws when it has nothing to release', base: 'sqlite', kills: ['REL-03'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async release(connection, holding) {
      const outcome = await real.release(connection, holding)
      if (outcome.status === 'not-held') throw new Error('not the owner')
      return outcome
    } }) }),
  },
  {
    name: 'releases without the owner in its WHERE', base: 'sqlite', kills: ['REL-04', 'OWN-01', 'OWN-04', 'OWN-05', 'LOS-08'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async release(connection, holding) {
      const holder = await real.inspect(connection, holding.name)
      return real.release(connection, { ...holding, owner: holder?.owner ?? holding.owner, fencingToken: holder?.fencingToken })
    } }) }),
  },
  {
    name: 'releases on the session of the holder, whoever asks', base: 'postgres', kills: ['OWN-03/opposite', 'REL-04', 'OWN-01'],
    dialect: (base) => altered(base, { strategy: (real) => {
      const held = new Map<string, Held>()
      return { ...remembering(real, held), release: (connection, holding) => real.release(held.get(holding.name.canonical)?.connection ?? connection, holding) }
    } }),
  },
  {
    name: 'releases everything at once', base: 'sqlite', kills: ['REL-05'],
    dialect: (base) => altered(base, { strategy: (real) => {
      const held = new Map<string, Held>()
      return { ...remembering(real, held), async release(connection, holding) {
        const outcome = await real.release(connection, holding)
        for (const other of held.values()) if (other.connection === connection) await real.release(connection, other.holding)
        return outcome
      } }
    } }),
  },
  {
    name: 'releases only on the connection that took it', base: 'sqlite', kills: ['OWN-03'],
    dialect: (base) => altered(base, { strategy: (real) => {
      const held = new Map<string, Held>()
      return { ...remembering(real, held), async release(connection, holding) {
        const by = held.get(holding.name.canonical)
        return by?.connection === connection ? real.release(connection, holding) : { status: 'not-held' }
      } }
    } }),
  },
  {
    name: 'compares owners without case and spaces', base: 'sqlite', kills: ['OWN-05'],
    dialect: (base) => altered(base, { strategy: (real) => {
      const folded = <T extends { owner: string }>(given: T): T => ({ ...given, owner: given.owner.toLowerCase().trim() })
      return changedHoldings(real, folded, folded)
    } }),
  },
  {
    name: 'releases an expired lease', base: 'sqlite', kills: ['LSE-06'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async release(connection, holding) {
      const outcome = await real.release(connection, holding)
      return outcome.status === 'not-held' && await real.inspect(connection, holding.name) === null ? { status: 'released' } : outcome
    } }) }),
  },
]
