import { randomUUID } from 'node:crypto'
import { lockName, type Dialect, type LockHolding, type LockName, type LockRequest, type OpenOptions, type SessionOptions, type SessionPurpose, type SqlSession } from '@sched/core/spi'
import { expect, onTestFinished, vi } from 'vitest'
import type { ApplockConnection } from '../../src/locks/applock-connection.ts'
import { openApplockConnection } from '../../src/locks/applock-connection.ts'
import { connectorFor, type SqlServerOptions } from '../../src/options.ts'
import type { StandInOptions } from '../stand-in/stand-in-options.ts'
import { TdsServerStandIn } from '../stand-in/tds-server-stand-in.ts'

export { eventually } from '@sched-dev/databases'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000, expect: { poll: { timeout: 15_000 } } })

export const never: AbortSignal = new AbortController().signal

/** A stand-in of this test alone. What it could not do itself fails the test. */
export async function startStandIn(options: Partial<StandInOptions> = {}): Promise<TdsServerStandIn> {
  const standIn = await TdsServerStandIn.start(options)
  onTestFinished(async () => {
    await standIn[Symbol.asyncDispose]()
    expect(standIn.reports()).toEqual([])
  })
  return standIn
}

export const name = (text: string): LockName => lockName('test', 'user', text)

export function request(text: string): LockRequest {
  return { name: name(text), owner: randomUUID(), ownerLabel: 'test', leaseMs: 10_000 }
}

export function holding(text: string): LockHolding {
  return { name: name(text), owner: randomUUID(), fencingToken: undefined }
}

export function openOptions(overrides: Partial<OpenOptions> = {}): OpenOptions {
  return { signal: never, leaseMs: 10_000, label: `sched:test:${randomUUID().slice(0, 8)}`, ...overrides }
}

/** A lock connection that is destroyed when the test ends. */
export async function openLocks(options: SqlServerOptions, overrides: Partial<OpenOptions> = {}): Promise<ApplockConnection> {
  const connection = await openApplockConnection(connectorFor(options), openOptions(overrides))
  onTestFinished(() => { connection.destroy() })
  return connection
}

export function sessionOptions(overrides: Partial<SessionOptions> = {}): SessionOptions {
  return { ...openOptions(), statementMs: 2_000, rowLockMs: 200, sharedSessions: false, ...overrides }
}

/** A session of the store that is destroyed when the test ends. */
export async function openStore<TClient>(dialect: Dialect<TClient>, purpose: SessionPurpose = 'store', overrides: Partial<SessionOptions> = {}): Promise<SqlSession<TClient>> {
  const session = await dialect.store!.open(purpose, sessionOptions(overrides))
  onTestFinished(() => { session.destroy() })
  return session
}
