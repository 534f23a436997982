import type { LockCapabilities } from '../../spi/capabilities.ts'
import type { LockConnection, LockDiagnostics, LockSource, LockStrategy, OpenOptions } from '../../spi/lock-source.ts'
import type { Probe } from '../../spi/probe.ts'
import type { SqlSession } from '../../spi/sql-session.ts'
import { classifyMemory } from './memory-error.ts'
import type { MemoryServer } from './memory-server.ts'
import type { MemorySession } from './memory-session.ts'

/** A session that locks live on. */
export class MemoryLockConnection implements LockConnection {
  readonly session: MemorySession

  constructor(session: MemorySession) { this.session = session }

  get id(): number { return this.session.id }
  get sql(): SqlSession { return this.session }
  ping(): Promise<void> { return this.session.ping() }
  destroy(): void { this.session.destroy() }
  onLost(callback: (cause: Error) => void): void { this.session.onLost(callback) }
}

export interface MemoryLocksOptions {
  readonly server: MemoryServer
  readonly clockUncertaintyMs: number
  readonly probe: (options: OpenOptions) => Promise<Probe>
  readonly open: (purpose: 'pulse' | 'wait', options: OpenOptions) => Promise<MemorySession>
}

/** Locks of a session, ended by the server when it has been idle for the lease: as PostgreSQL and MySQL have them. */
export function memoryLocks({ server, clockUncertaintyMs, probe, open }: MemoryLocksOptions): LockSource<MemoryLockConnection> {
  const capabilities: LockCapabilities = {
    kind: 'session', boundedStaleness: true, serverSideWait: false, fencing: 'none', inspection: true, scope: 'cluster', maxLocks: 10_000, clockUncertaintyMs,
  }
  return {
    lockType: 'memory:session',
    capabilities,
    strategy,
    diagnostics: diagnostics(server),
    probe: async (options) => ({ ...await probe(options), capabilities }),
    open: async (purpose, options) => new MemoryLockConnection(await open(purpose, options)),
    classify: classifyMemory,
  }
}

const strategy: LockStrategy<MemoryLockConnection> = {
  tryLock: ({ session }, { name, owner, ownerLabel }) => session.call('lock', ({ id, server }) => {
    return { status: server.locks.take(name.canonical, { sessionId: id, owner, ownerLabel, sinceAt: server.nowMs }) ? 'granted' : 'refused' }
  }),
  release: ({ session }, { name, owner }) => session.call('unlock', ({ id, server }) => ({ status: server.locks.give(name.canonical, id, owner) ? 'released' : 'not-held' })),
  refresh: ({ session }, holdings) => session.call('refresh', (serverSession) => {
    serverSession.ping()
    const { id, server } = serverSession
    return { lost: holdings.filter(({ name, owner }) => server.locks.heldBy(name.canonical, id, owner) !== 'mine').map(({ owner }) => owner) }
  }),
  isHeld: ({ session }, { name, owner }) => session.call('inspect', ({ id, server }) => server.locks.heldBy(name.canonical, id, owner)),
  inspect: ({ session }, name) => session.call('inspect', ({ server }) => server.locks.holder(name.canonical)),
}

function diagnostics(server: MemoryServer): LockDiagnostics<MemoryLockConnection> {
  const labelled = (label: string, asking: MemoryLockConnection): number[] => server.sessions.filter((session) => session.label === label && session.id !== asking.id).map(({ id }) => id)
  return {
    sessions: async (connection, label) => labelled(label, connection),
    locks: async (connection, label) => server.locks.countOf(new Set(labelled(label, connection))),
    kill: async (_connection, id) => { server.sessions.find((session) => session.id === id)?.end('killed by an operator') },
  }
}
