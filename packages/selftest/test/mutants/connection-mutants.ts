import type { Dialect, LockConnection, OpenOptions } from '@sched/core/spi'
import { altered, probing } from './alter.ts'
import type { Mutant } from './mutant.ts'
import { remembering } from './release-mutants.ts'

const never = new AbortController().signal

export const connectionMutants: readonly Mutant[] = [
  { name: 'does not know its version', base: 'sqlite', kills: ['CON-01'], dialect: (base) => probing(base, (probe) => ({ ...probe, version: '' })) },
  {
    name: 'warns without a way out', base: 'sqlite', kills: ['CON-01'],
    dialect: (base) => probing(base, (probe) => ({ ...probe, findings: [{ level: 'warn', code: 'SCHED_CAPABILITY_MISSING', message: 'Something is odd.', remedy: ' ' }] })),
  },
  {
    name: 'changes its mind about its capabilities', base: 'sqlite', kills: ['CON-02'],
    dialect: (base) => { let asked = 0; return probing(base, (probe) => { asked += 1; return { ...probe, capabilities: { ...probe.capabilities, maxLocks: asked } } }) },
  },
  {
    name: 'leaves a session behind its probe', base: 'postgres', kills: ['CON-03'],
    dialect: (base, litter) => altered(base, { source: (real) => ({ async probe(options) { litter.leave(await base.locks.open('pulse', options)); return real.probe(options) } }) }),
  },
  { name: 'answers every ping', base: 'sqlite', kills: ['CON-04', 'CON-07'], dialect: (base) => altered(base, { connection: () => ({ ping: async () => undefined }) }) },
  {
    name: 'opens although it was aborted', base: 'sqlite', kills: ['CON-05'],
    dialect: (base) => altered(base, { source: (real) => ({ open: (purpose, options) => real.open(purpose, { ...options, signal: never }) }) }),
  },
  {
    name: 'forgets connections that come too late', base: 'postgres', kills: ['CON-06'],
    dialect: (base, litter) => altered(base, { source: (real) => ({ async open(purpose, options) {
      const opening = real.open(purpose, { ...options, signal: never })
      void opening.then((connection) => litter.leave(connection))
      return Promise.race([opening, aborted(options)])
    } }) }),
  },
  {
    name: 'throws at the second destroy', base: 'sqlite', kills: ['CON-07'],
    dialect: (base) => altered(base, { connection: (real) => {
      let destroyed = false
      return { destroy() { if (destroyed) throw new Error('destroyed already'); destroyed = true; real.destroy() } }
    } }),
  },
  {
    name: 'hides its label', base: 'postgres', kills: ['CON-08'],
    dialect: (base) => altered(base, { source: (real) => ({ open: (purpose, options) => real.open(purpose, { ...options, label: 'app' }) }) }),
  },
  {
    name: 'destroys nothing', base: 'postgres', kills: ['LSE-03/opposite', 'RES-03/opposite', 'RES-06', 'WAI-08'],
    dialect: (base, litter) => altered(base, { connection: (real) => ({ destroy: () => litter.leave(real) }) }),
  },
  { name: 'shares one session among all', base: 'postgres', kills: ['TRY-02', 'PIN-01', 'PIN-02', 'WAI-07'], dialect: sharedSession },
  {
    name: 'releases on another session than it took', base: 'postgres', kills: ['PIN-03', 'REL-01', 'TRY-07'],
    dialect: (base, litter) => altered(base, { strategy: (real) => ({ async release(_connection, holding) {
      const other = await base.locks.open('pulse', { signal: never, leaseMs: 30_000, label: 'sched:mutant:other' })
      litter.leave(other)
      await real.release(other, holding)
      return { status: 'released' }
    } }) }),
  },
  {
    name: 'has locks that end with the transaction', base: 'postgres', kills: ['PIN-04'],
    dialect: (base) => {
      const held: Parameters<typeof remembering>[1] = new Map()
      const releaseAll = async (): Promise<void> => { for (const { connection, holding } of held.values()) await altering.locks.strategy.release(connection, holding) }
      const altering: Dialect = altered(base, {
        strategy: (real) => remembering(real, held),
        connection: ({ sql }) => (sql === undefined ? {} : { sql: {
          client: sql.client, run: (statement) => sql.run(statement), begin: () => sql.begin(), ping: () => sql.ping(), destroy: () => sql.destroy(),
          async commit() { await sql.commit(); await releaseAll() }, async rollback() { await sql.rollback(); await releaseAll() },
        } }),
      })
      return altering
    },
  },
  {
    name: 'never says that it was lost', base: 'postgres', kills: ['LOS-02'],
    dialect: (base) => altered(base, { connection: () => ({ onLost: () => undefined }) }),
  },
  { name: 'reconnects by itself', base: 'postgres', kills: ['LOS-03', 'LOS-04'], dialect: reconnecting },
  {
    name: 'kills nothing', base: 'postgres', kills: ['LOS-01', 'LOS-02'],
    dialect: (base) => altered(base, { diagnostics: () => ({ kill: async () => undefined }) }),
  },
]

function aborted({ signal }: OpenOptions): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}

function sharedSession(base: Dialect): Dialect {
  const shared = new Map<string, Promise<LockConnection>>()
  return altered({ ...base, locks: {
    lockType: base.locks.lockType, capabilities: base.locks.capabilities, strategy: base.locks.strategy, ...(base.locks.diagnostics === undefined ? {} : { diagnostics: base.locks.diagnostics }),
    probe: (options) => base.locks.probe(options), classify: (error) => base.locks.classify(error),
    async open(purpose, options) {
      const key = options.label
      const existing = shared.get(key)
      if (existing !== undefined) return existing
      const opening = base.locks.open(purpose, options)
      shared.set(key, opening)
      return opening
    },
  } }, {})
}

/** A client that opens a new session under the same connection when the old one ends, and tells nobody. */
function reconnecting(base: Dialect): Dialect {
  const { locks } = base
  const { strategy, diagnostics } = locks
  const current = new WeakMap<LockConnection, Promise<LockConnection>>()
  const now = async (connection: LockConnection): Promise<LockConnection> => current.get(connection) ?? connection
  return altered({ ...base, locks: {
    lockType: locks.lockType, capabilities: locks.capabilities, probe: (options) => locks.probe(options), classify: (error) => locks.classify(error),
    diagnostics: {
      sessions: async (connection, label) => diagnostics!.sessions(await now(connection), label),
      locks: async (connection, label) => diagnostics!.locks(await now(connection), label),
      kill: async (connection, id) => diagnostics!.kill!(await now(connection), id),
    },
    strategy: {
      tryLock: async (connection, request) => strategy.tryLock(await now(connection), request),
      lock: async (connection, request, waitMs) => strategy.lock!(await now(connection), request, waitMs),
      release: async (connection, holding) => strategy.release(await now(connection), holding),
      refresh: async (connection, holdings, leaseMs) => strategy.refresh(await now(connection), holdings, leaseMs),
      isHeld: async (connection, holding) => strategy.isHeld(await now(connection), holding),
      inspect: async (connection, name) => strategy.inspect(await now(connection), name),
    },
    async open(purpose, options) {
      const first = await locks.open(purpose, options)
      const facade: LockConnection = {
        ...(first.id === undefined ? {} : { id: first.id }), onLost: () => undefined,
        ping: async () => (await now(facade)).ping(), destroy() { void now(facade).then((session) => session.destroy()) },
      }
      current.set(facade, Promise.resolve(first))
      first.onLost?.(() => { current.set(facade, locks.open(purpose, { ...options, signal: never })) })
      return facade
    },
  } }, {})
}
