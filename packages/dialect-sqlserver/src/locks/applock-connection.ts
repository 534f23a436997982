import type { LockConnection, OpenOptions, SqlSession } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { openSession } from '../session/open-session.ts'
import type { PhysicalSession } from '../session/physical-session.ts'
import { ledgerSettings } from '../session/session-settings.ts'
import { sqlSession } from '../session/sql-session.ts'

/** A session that application locks live on. */
export interface ApplockConnection extends LockConnection {
  readonly id: number
  readonly sql: SqlSession
  readonly session: PhysicalSession
  /** The driver's limit for a call that does not wait. */
  readonly limitMs: number
}

export async function openApplockConnection(connector: Connector, options: OpenOptions): Promise<ApplockConnection> {
  const { statementMs, rowLockMs } = limitsWithin(options.leaseMs)
  const opened = await openSession(connector, options, ledgerSettings({ rowLockMs }))
  const sql = sqlSession(opened, { statementMs, isolation: 'read-committed' })
  return {
    id: opened.id, session: opened.session, sql, limitMs: statementMs,
    ping: () => sql.ping(),
    destroy: () => { sql.destroy() },
    onLost: (callback) => { opened.session.onLost(callback) },
  }
}

/** The core's limits for its own statements are not told here; these keep them inside a heartbeat of a third of the lease. */
function limitsWithin(leaseMs: number): { statementMs: number; rowLockMs: number } {
  return { statementMs: Math.ceil(leaseMs / 4), rowLockMs: Math.min(1_000, leaseMs / 8) }
}
