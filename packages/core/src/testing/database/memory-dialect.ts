import type { Dialect } from '../../spi/dialect.ts'
import type { OpenOptions } from '../../spi/lock-source.ts'
import type { Probe } from '../../spi/probe.ts'
import type { StoreDialect } from '../../spi/store-dialect.ts'
import { FaultBoard, type Faults, type Step } from '../faults/faults.ts'
import type { ManualClock } from '../time/manual-clock.ts'
import { Host } from './host.ts'
import type { MemoryClient } from './memory-client.ts'
import { classifyMemory, MemoryDatabaseError } from './memory-error.ts'
import { memoryFragments } from './memory-fragments.ts'
import { memoryLocks } from './memory-locks.ts'
import { MemoryServer } from './memory-server.ts'
import { MemorySession } from './memory-session.ts'
import { Wire } from './wire.ts'

export interface MemoryDialectOptions {
  /** The clock of the process that uses it. The database goes by the world's time behind it. */
  readonly clock: ManualClock
  /** How far the database's clock is ahead of the world's time. Default 0. */
  readonly aheadMs?: number
  /** How long a message to or from the database takes; a function is asked for each. Default 0. */
  readonly latencyMs?: number | (() => number)
  /** How long an idle session may keep a transaction open before the server ends it. Default: the lease. `Infinity`: for ever, as on SQLite. */
  readonly idleInTransactionMs?: number
  /** Added to every safety margin, as for a cluster whose servers' clocks differ. Default 0. */
  readonly clockUncertaintyMs?: number
}

/** A dialect whose database lives in this process, on a clock that is driven by hand. */
export interface MemoryDialect extends Dialect<MemoryClient> {
  readonly store: StoreDialect<MemoryClient>
  readonly database: MemoryDatabase
  /** What is to go wrong on the way to the database. */
  readonly faults: Faults
  /** The process that uses it: to freeze or kill it. */
  readonly host: Host
  /** The same database, as another process sees it. */
  connect(name: string, clock: ManualClock): MemoryDialect
}

/** The database behind a MemoryDialect, and every process that is connected to it. */
export interface MemoryDatabase {
  /** Its clock, epoch milliseconds. */
  readonly nowMs: number
  /** Its clock steps, forward or back. */
  jumpClock(ms: number): void
  /** It goes down: every session ends, and what was open is rolled back. */
  stop(): void
  restart(): void
  /** Open sessions. */
  readonly sessions: readonly { readonly id: number; readonly label: string; readonly inTransaction: boolean; end(why: string): void }[]
  /** What is committed, by a SELECT; or a change, made at once. `database_now_ms()` is its clock, `world_now_ms()` the world's time. */
  query(text: string, values?: readonly (string | number | null)[]): readonly Record<string, unknown>[]
  /** Frees the memory of its tables, for whoever makes thousands in one process: nothing may be asked of it any more. */
  close(): void
}

/** Everything that the processes of one database share. */
interface Shared { readonly server: MemoryServer; readonly board: FaultBoard; readonly latencyMs: () => number; readonly options: MemoryDialectOptions }

// What an open write transaction may take of the lease: it stops every other writer, heartbeats included.
const transactionBudget = 1 / 3

export function memoryDialect(options: MemoryDialectOptions): MemoryDialect {
  const { clock, latencyMs = 0, aheadMs = 0 } = options
  const server = new MemoryServer(clock.timeline, () => clock.worldMs(), aheadMs)
  return dialectFor({ server, board: new FaultBoard(), latencyMs: typeof latencyMs === 'number' ? () => latencyMs : latencyMs, options }, new Host('main', clock))
}

function dialectFor(shared: Shared, host: Host): MemoryDialect {
  const { server, board, latencyMs, options: { idleInTransactionMs, clockUncertaintyMs = 0 } } = shared

  const open = async (purpose: Step['purpose'], { label, leaseMs, signal }: OpenOptions, locks: boolean): Promise<MemorySession> => {
    signal.throwIfAborted()
    if (host.clock.halted) return new Promise(() => undefined)
    const session = server.connect(label, { idleInTransactionMs: idleInTransactionMs ?? leaseMs, idleMs: locks ? leaseMs : undefined })
    const wire = new Wire({ host, board, session, latencyMs })
    const opened = new MemorySession(wire, session, { node: host.name, purpose })
    const giveUp = (): void => { opened.destroy() }
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      await opened.call('open', (server) => { server.ping() })
    } catch (error) {
      opened.destroy()
      throw error
    } finally {
      signal.removeEventListener('abort', giveUp)
    }
    return opened
  }

  const probe = async (options: OpenOptions): Promise<Probe> => {
    const session = await open('probe', options, false)
    try {
      await session.call('probe', () => undefined)
    } finally {
      session.destroy()
    }
    return { product: 'memory', version: '1', scope: 'memory', sharedSessions: false, findings: [] }
  }

  return {
    spiVersion: 1,
    name: 'memory',
    host,
    faults: board,
    database: databaseOf(server),
    locks: memoryLocks({ server, clockUncertaintyMs, probe, open: (purpose, options) => open(purpose, options, true) }),
    store: { sql: memoryFragments, transactionBudget, probe, open: (purpose, options) => open(purpose, options, false), classify: classifyMemory },
    connect: (name, clock) => {
      if (clock.timeline !== server.timeline) throw new MemoryDatabaseError('unknown', 'the clock is of another world: make it with sibling()')
      return dialectFor(shared, new Host(name, clock))
    },
    close: async () => {}, // sessions belong to whom they were opened for, the tables to whoever still looks at them
  }
}

function databaseOf(server: MemoryServer): MemoryDatabase {
  return {
    get nowMs() { return server.nowMs },
    jumpClock: (ms) => { server.jumpClock(ms) },
    stop: () => { server.stop() },
    restart: () => { server.restart() },
    get sessions() { return server.sessions },
    query: (text, values = []) => server.query(text, values.map((value) => (Number.isSafeInteger(value) ? BigInt(value as number) : value))).rows,
    close: () => { server.tables.close() },
  }
}
