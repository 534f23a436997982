import { altered } from './alter.ts'
import type { Mutant } from './mutant.ts'

export const refreshMutants: readonly Mutant[] = [
  {
    name: 'calls every refreshed lock lost', base: 'sqlite', kills: ['REF-01'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async refresh(connection, holdings, leaseMs) {
      await real.refresh(connection, holdings, leaseMs)
      return { lost: holdings.map(({ owner }) => owner) }
    } }) }),
  },
  {
    name: 'reports no loss', base: 'sqlite', kills: ['REF-02', 'REF-04', 'LOS-07'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async refresh(connection, holdings, leaseMs) {
      await real.refresh(connection, holdings, leaseMs)
      return { lost: [] }
    } }) }),
  },
  {
    name: 'says refreshed and does nothing', base: 'sqlite', kills: ['REF-03', 'REF-07', 'LOS-06'],
    dialect: (base) => altered(base, { strategy: () => ({ refresh: async () => ({ lost: [] }) }) }),
  },
  {
    name: 'refreshes without a round trip', base: 'postgres', kills: ['REF-03', 'LOS-06', 'REF-04/opposite'],
    dialect: (base) => altered(base, { strategy: () => ({ refresh: async () => ({ lost: [] }) }) }),
  },
  {
    name: 'revives an expired lease', base: 'sqlite', kills: ['REF-04'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async refresh(connection, holdings, leaseMs) {
      const lost: string[] = []
      for (const holding of holdings) {
        const refreshed = await real.refresh(connection, [holding], leaseMs)
        if (refreshed.lost.length === 0) continue
        const again = await real.tryLock(connection, { ...holding, ownerLabel: 'revived', leaseMs })
        if (again.status !== 'granted') lost.push(holding.owner)
      }
      return { lost }
    } }) }),
  },
  {
    name: 'refreshes without the owner in its WHERE', base: 'sqlite', kills: ['REF-05', 'OWN-02'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async refresh(connection, holdings, leaseMs) {
      const lost: string[] = []
      for (const holding of holdings) {
        const holder = await real.inspect(connection, holding.name)
        const refreshed = await real.refresh(connection, [{ ...holding, owner: holder?.owner ?? holding.owner, fencingToken: holder?.fencingToken }], leaseMs)
        if (refreshed.lost.length > 0) lost.push(holding.owner)
      }
      return { lost }
    } }) }),
  },
  {
    name: 'refreshes lock by lock', base: 'postgres', kills: ['REF-06'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async refresh(connection, holdings) {
      const lost: string[] = []
      for (const holding of holdings) if (await real.isHeld(connection, holding) !== 'mine') lost.push(holding.owner)
      return { lost }
    } }) }),
  },
]
