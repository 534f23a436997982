import { randomUUID } from 'node:crypto'
import { lockName, tableNames, type Dialect, type LockConnection, type LockHolding, type LockName, type LockRequest, type OpenOptions, type SessionOptions, type SqlSession, type Tables } from '@sched/core/spi'
import { expect, onTestFinished, vi } from 'vitest'
import { oracle } from '../../src/index.ts'
import { fragments } from '../../src/store/fragments.ts'
import type { ServerOptionsStandIn } from '../stand-in/server-options-stand-in.ts'
import { OracleServerStandIn } from '../stand-in/server-stand-in.ts'
import type { WireFaults } from '../stand-in/wire-connection-stand-in.ts'
import { wireServerStandIn, type WireServerStandIn } from '../stand-in/wire-server-stand-in.ts'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000, expect: { poll: { timeout: 15_000 } } })

export const tables: Tables = tableNames(fragments)

/** A stand-in at the wire and the dialect on it, through the real driver. Ends with the test. */
export class Ground {
  readonly server: OracleServerStandIn
  readonly wire: WireServerStandIn
  readonly dialect: Dialect

  private constructor(server: OracleServerStandIn, wire: WireServerStandIn, dialect: Dialect) {
    this.server = server
    this.wire = wire
    this.dialect = dialect
  }

  static async start(options: ServerOptionsStandIn = {}, faults: WireFaults = {}): Promise<Ground> {
    const server = new OracleServerStandIn(options)
    const wire = await wireServerStandIn(server, faults)
    const dialect = oracle({ url: wire.url })
    onTestFinished(async () => {
      await dialect.close()
      await wire.close()
    })
    return new Ground(server, wire, dialect)
  }

  openOptions(changes: Partial<OpenOptions> = {}): OpenOptions {
    return { signal: AbortSignal.timeout(20_000), leaseMs: 30_000, label: `sched:stand-in:test:${process.pid}`, tables, ...changes }
  }

  open(purpose: 'pulse' | 'wait' = 'pulse', changes: Partial<OpenOptions> = {}): Promise<LockConnection> {
    return this.dialect.locks.open(purpose, this.openOptions(changes))
  }

  async openStore(purpose: 'pulse' | 'store' | 'transaction' = 'store', changes: Partial<SessionOptions> = {}): Promise<SqlSession> {
    const { store } = this.dialect
    if (store === undefined) throw new Error('the dialect has no store')
    return store.open(purpose, { ...this.openOptions(), statementMs: 5_000, rowLockMs: 1_000, sharedSessions: false, ...changes })
  }

  /** Until so many sessions of the server wait for a lock. */
  async waiting(sessions: number): Promise<void> {
    await expect.poll(() => [...this.server.sessions].filter(({ interrupt }) => interrupt !== undefined)).toHaveLength(sessions)
  }

  /** The server's clock goes on by so many days. */
  daysPass(days: number): void { this.server.clockOffsetMs += days * 86_400_000 }
}

export function nameOf(text: string): LockName { return lockName('stand-in', 'user', text) }

export function requestFor(name: LockName): LockRequest { return { name, owner: randomUUID(), ownerLabel: 'host:1', leaseMs: 30_000 } }

export function holdingOf({ name, owner }: LockRequest): LockHolding { return { name, owner, fencingToken: undefined } }

/** What it rejects with. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  return work.then((answer) => { throw new Error(`it answered ${JSON.stringify(answer)}`) }, (error: unknown) => error as Error)
}
