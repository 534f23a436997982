import { setTimeout as sleep } from 'node:timers/promises'
import type { LockHolding, LockOutcome } from '@sched/core/spi'
import { altered } from './alter.ts'
import type { Mutant } from './mutant.ts'

export const grantMutants: readonly Mutant[] = [
  {
    name: 'never grants', base: 'sqlite', kills: ['TRY-01'],
    dialect: (base) => altered(base, { strategy: () => ({ tryLock: async () => ({ status: 'refused' }) }) }),
  },
  {
    name: 'always grants', base: 'sqlite', kills: ['TRY-02', 'CNT-01'],
    dialect: (base) => altered(base, {
      strategy: (real) => ({ async tryLock(connection, request) {
        const outcome = await real.tryLock(connection, request)
        return outcome.status === 'refused' ? { status: 'granted', fencingToken: 1 } : outcome
      } }),
    }),
  },
  {
    name: 'a try waits', base: 'postgres', kills: ['TRY-03'],
    dialect: (base) => altered(base, { strategy: (real) => ({ tryLock: (connection, request) => real.lock!(connection, request, 4_000) }) }),
  },
  {
    name: 'a refusal frees the holder', base: 'sqlite', kills: ['TRY-05'],
    dialect: (base) => altered(base, { strategy: (real) => {
      const held = new Map<string, LockHolding>()
      return { async tryLock(connection, request) {
        const outcome = await real.tryLock(connection, request)
        const holding = held.get(request.name.canonical)
        if (outcome.status === 'granted') held.set(request.name.canonical, { ...request, fencingToken: outcome.fencingToken })
        else if (holding !== undefined) await real.release(connection, holding)
        return outcome
      } }
    } }),
  },
  {
    name: 'a refusal comes true later', base: 'sqlite', kills: ['TRY-06'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async tryLock(connection, request) {
      const outcome = await real.tryLock(connection, request)
      if (outcome.status === 'refused') void insist(() => real.tryLock(connection, request))
      return outcome
    } }) }),
  },
  {
    name: 'takes two locks and releases one', base: 'postgres', kills: ['TRY-07', 'REL-01', 'RES-02'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async tryLock(connection, request) {
      const outcome = await real.tryLock(connection, request)
      return outcome.status === 'granted' ? real.tryLock(connection, request) : outcome
    } }) }),
  },
  {
    name: 'looks first and takes then', base: 'sqlite', kills: ['CNT-01', 'CNT-03'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async tryLock(connection, request) {
      if (await real.inspect(connection, request.name) !== null) return { status: 'refused' }
      await sleep(5)
      const outcome = await real.tryLock(connection, request)
      return outcome.status === 'refused' ? { status: 'granted', fencingToken: 1 } : outcome
    } }) }),
  },
  {
    name: 'waits before it asks', base: 'postgres', kills: ['WAI-02'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async lock(connection, request, waitMs) {
      await sleep(Math.min(waitMs, 4_000))
      return real.tryLock(connection, request)
    } }) }),
  },
  {
    name: 'does not wait', base: 'postgres', kills: ['WAI-03', 'WAI-05'],
    dialect: (base) => altered(base, { strategy: (real) => ({ lock: (connection, request) => real.tryLock(connection, request) }) }),
  },
  {
    name: 'waits in whole seconds', base: 'postgres', kills: ['WAI-03'],
    dialect: (base) => altered(base, { strategy: (real) => ({ lock: (connection, request, waitMs) => real.lock!(connection, request, Math.max(1, Math.floor(waitMs / 1_000) * 1_000)) }) }),
  },
  {
    name: 'waits too long', base: 'postgres', kills: ['WAI-04'],
    dialect: (base) => altered(base, { strategy: (real) => ({ lock: (connection, request, waitMs) => real.lock!(connection, request, waitMs + 6_000) }) }),
  },
  {
    name: 'asks again only when the wait is over', base: 'postgres', kills: ['WAI-05'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async lock(connection, request, waitMs) {
      const outcome = await real.tryLock(connection, request)
      if (outcome.status === 'granted') return outcome
      await sleep(waitMs)
      return real.tryLock(connection, request)
    } }) }),
  },
  {
    name: 'a wait that is given up goes on in the server', base: 'postgres', kills: ['WAI-06'],
    dialect: (base) => altered(base, { strategy: (real) => ({ async lock(connection, request, waitMs) {
      const waiting = real.lock!(connection, request, waitMs + 10_000)
      return Promise.race([waiting, sleep<LockOutcome>(waitMs, { status: 'refused' })])
    } }) }),
  },
  {
    name: 'claims to wait in the server', base: 'sqlite', kills: ['WAI-01'],
    dialect: (base) => altered(base, { source: (real) => ({ probe: async (options) => {
      const probe = await real.probe(options)
      return { ...probe, capabilities: { ...probe.capabilities, serverSideWait: true } }
    } }) }),
  },
  {
    name: 'hides that it waits in the server', base: 'postgres', kills: ['WAI-01/opposite'],
    dialect: (base) => altered(base, { source: (real) => ({ probe: async (options) => {
      const probe = await real.probe(options)
      return { ...probe, capabilities: { ...probe.capabilities, serverSideWait: false } }
    } }) }),
  },
]

async function insist(work: () => Promise<LockOutcome>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    await sleep(5)
    // The connection may be gone by now: that ends it too.
    const outcome = await work().catch((): undefined => undefined)
    if (outcome === undefined || outcome.status === 'granted') return
  }
}

