import { GuardedSession } from '../../src/session/guarded-session.ts'
import type { LockCapabilities } from '../../src/spi/capabilities.ts'
import type { ErrorClass } from '../../src/spi/error-class.ts'
import type { HeldBy, LockConnection, LockHolding, LockOutcome, LockSource, ReleaseOutcome } from '../../src/spi/lock-source.ts'
import type { ManualClock } from '../manual-clock.ts'

export type Method = 'tryLock' | 'lock' | 'release' | 'refresh' | 'isHeld' | 'inspect'

/** Before or instead of what the server does: throws, answers, or waits. Undefined: the server's own answer. */
export type Interference = (server: ScriptedServer) => unknown

export interface ScriptedConnection extends LockConnection {
  readonly id: number
  readonly alive: boolean
  lose(): void
}

interface Row { owner: string; connection: number; expiresAt: number; token: number }

export interface ScriptedServer {
  readonly source: LockSource
  /** Every call that reached the server, as `method name@connection`. */
  readonly log: string[]
  readonly rows: Map<string, Row>
  readonly connections: ScriptedConnection[]
  /** Interferes with the next call of a method. */
  next(method: Method, interfere: Interference): void
  open(): ScriptedConnection
}

export const failing = (as: ErrorClass, message = 'scripted'): Error => Object.assign(new Error(message), { as })

/** A lock server in memory whose answers a test can script: for the order of things, on a clock that stands still. */
export function scriptedServer(clock: ManualClock, kind: LockCapabilities['kind'], overrides: Partial<LockCapabilities> = {}): ScriptedServer {
  const rows = new Map<string, Row>()
  const log: string[] = []
  const scripts = new Map<Method, Interference[]>()
  const connections: ScriptedConnection[] = []
  let tokens = 0
  const capabilities: LockCapabilities = {
    kind, boundedStaleness: true, serverSideWait: kind === 'session', fencing: kind === 'lease' ? 'row' : 'none', inspection: true, scope: 'database', maxLocks: 100, clockUncertaintyMs: 0, ...overrides,
  }
  const current = (name: string): Row | undefined => {
    const row = rows.get(name)
    if (row !== undefined && kind === 'lease' && row.expiresAt <= clock.monotonicMs()) return undefined
    return row
  }
  const call = async <T>(method: Method, connection: LockConnection, name: string, answer: () => T): Promise<T> => {
    const { id, alive } = connection as ScriptedConnection
    if (!alive) throw failing('connection-lost', 'the connection is gone')
    log.push(`${method} ${name}@${id}`)
    const interfere = scripts.get(method)?.shift()
    if (interfere !== undefined) {
      const given = await interfere(server)
      if (given !== undefined) return given as T
    }
    return answer()
  }
  const mine = (connection: LockConnection, { name, owner }: Pick<LockHolding, 'name' | 'owner'>): Row | undefined => {
    const row = current(name.name)
    return row !== undefined && (kind === 'session' ? row.connection === connection.id : row.owner === owner) ? row : undefined
  }
  const grant = (connection: LockConnection, request: { name: { name: string }; owner: string; leaseMs: number }): LockOutcome => {
    if (current(request.name.name) !== undefined) return { status: 'refused' }
    tokens += 1
    rows.set(request.name.name, { owner: request.owner, connection: (connection as ScriptedConnection).id, expiresAt: clock.monotonicMs() + request.leaseMs, token: tokens })
    return kind === 'lease' ? { status: 'granted', fencingToken: tokens } : { status: 'granted' }
  }
  const open = (): ScriptedConnection => {
    const id = connections.length + 1
    let alive = true
    let callback: ((cause: Error) => void) | undefined
    const end = (): void => {
      alive = false
      if (kind === 'session') for (const [name, row] of rows) if (row.connection === id) rows.delete(name)
    }
    const connection: ScriptedConnection = {
      id, get alive() { return alive }, ping: async () => {}, destroy: end, onLost: (given) => { callback = given },
      lose: () => { end(); callback?.(new Error('connection reset by peer')) },
    }
    connections.push(connection)
    return connection
  }
  const source: LockSource = {
    lockType: 'scripted', capabilities,
    strategy: {
      tryLock: (connection, request) => call('tryLock', connection, request.name.name, () => grant(connection, request)),
      ...(kind === 'session' ? { lock: (connection: LockConnection, request: Parameters<typeof grant>[1]) => call('lock', connection, request.name.name, () => grant(connection, request)) } : {}),
      release: (connection, holding) => call('release', connection, holding.name.name, (): ReleaseOutcome => {
        if (mine(connection, holding) === undefined) return { status: 'not-held' }
        rows.delete(holding.name.name)
        return { status: 'released' }
      }),
      refresh: (connection, holdings, leaseMs) => call('refresh', connection, holdings.map(({ name }) => name.name).join(','), () => {
        const lost: string[] = []
        for (const holding of holdings) {
          const row = mine(connection, holding)
          if (row === undefined) lost.push(holding.owner)
          else row.expiresAt = clock.monotonicMs() + leaseMs
        }
        return { lost }
      }),
      isHeld: (connection, holding) => call('isHeld', connection, holding.name.name, (): HeldBy => mine(connection, holding) !== undefined ? 'mine' : current(holding.name.name) === undefined ? 'free' : 'other'),
      inspect: (connection, name) => call('inspect', connection, name.name, () => {
        const row = current(name.name)
        return row === undefined ? null : { owner: row.owner, fencingToken: row.token }
      }),
    },
    probe: async () => ({ product: 'Scripted', version: '1', scope: 'scripted', sharedSessions: false, findings: [], capabilities }),
    open: async () => open(),
    classify: (error) => (error as { as?: ErrorClass }).as ?? 'unknown',
  }
  const server: ScriptedServer = {
    source, log, rows, connections, open,
    next: (method, interfere) => { scripts.set(method, [...scripts.get(method) ?? [], interfere]) },
  }
  return server
}

export function guarded(server: ScriptedServer, clock: ManualClock): GuardedSession<LockConnection> {
  return new GuardedSession<LockConnection>(server.open(), { clock, label: 'test', classify: server.source.classify.bind(server.source) })
}
