import { randomUUID } from 'node:crypto'
import { SchedError, type LockConnection, type OpenOptions, type SqlRow, type SqlSession, type Statement } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { Vendor } from '../errors/vendor.ts'
import { openSession } from '../session/open-session.ts'
import { idleLimitOfPulse, ledgerSettings } from '../session/session-limits.ts'
import { ping, sqlSession } from '../session/sql-session.ts'

/** A session that user-level locks live on. */
export interface GetLockConnection extends LockConnection {
  readonly id: number
  readonly sql: SqlSession
  readonly vendor: Vendor
  /** What the session was marked with when it was opened. */
  readonly mark: string
  /** A statement that answers no row on any session but this. @throws SchedError SCHED_UNSAFE_POOLER */
  runHere(statement: Statement): Promise<SqlRow>
}

/** @throws SchedError SCHED_UNSAFE_POOLER behind a proxy that shares sessions, where a session belongs to nobody */
export async function openGetLockConnection(connector: Connector, purpose: 'pulse' | 'wait', options: OpenOptions): Promise<GetLockConnection> {
  if (options.sharedSessions === true) throw misdirected('user-level locks cannot be held behind a proxy that shares sessions.')
  const mark = randomUUID()
  const { label, leaseMs, signal } = options
  const { session, server } = await openSession(connector, signal, true, (found) => [
    ...ledgerSettings(found, { label, leaseMs, rowLockMs: Math.min(1_000, leaseMs / 8), statementMs: purpose === 'wait' ? undefined : leaseMs / 4 }),
    // The lease, enforced by the server: who is silent for longer loses the session and with it every lock.
    ...idleLimitOfPulse(leaseMs).settings,
    { name: '@sched_session', value: mark },
  ])
  const id = server.sessionId
  return {
    id, mark,
    vendor: server.vendor,
    sql: sqlSession(session, { id }),
    async runHere(statement) {
      const { rows: [row] } = await session.run(statement)
      if (row !== undefined) return row
      const error = misdirected(`a statement of lock session ${id} ran on another session, or something has reset it.`)
      session.lose(error)
      throw error
    },
    ping: () => ping(session),
    destroy: () => { session.destroy() },
    onLost: (callback) => { session.onLost(callback) },
  }
}

function misdirected(what: string): SchedError {
  return new SchedError('SCHED_UNSAFE_POOLER', what, { details: { errorClass: 'connection-lost' }, remedy: proxyRemedy })
}

export const proxyRemedy = 'Connect to the server itself, or use the lock table (`lockTable(mysql(…))`, URL `locktable+mysql://…`).'
