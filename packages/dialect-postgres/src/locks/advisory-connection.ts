import { randomUUID } from 'node:crypto'
import { SchedError, type LockConnection, type OpenOptions, type SqlRow, type SqlSession, type Statement } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { openSession } from '../session/open-session.ts'
import { ledgerSettings, lockSettings } from '../session/session-limits.ts'
import { sessionSettings } from '../session/session-settings.ts'
import { ping, sqlSession } from '../session/sql-session.ts'

/** A session that advisory locks live on. */
export interface AdvisoryConnection extends LockConnection {
  readonly id: number
  readonly sql: SqlSession
  /** What the session was marked with when it was opened. */
  readonly mark: string
  /** A statement that answers no row on any session but this. @throws SchedError SCHED_UNSAFE_POOLER */
  runHere(statement: Statement): Promise<SqlRow>
  /** The same for a message of several statements; the last one answers. */
  runBatchHere(text: string): Promise<SqlRow>
}

/** @throws SchedError SCHED_UNSAFE_POOLER behind a transaction pooler, where a session belongs to nobody */
export async function openAdvisoryConnection(connector: Connector, purpose: 'pulse' | 'wait', options: OpenOptions): Promise<AdvisoryConnection> {
  if (options.sharedSessions === true) throw misdirected('advisory locks cannot be held behind a transaction pooler.')
  const mark = randomUUID()
  const { session, id } = await openSession(connector, options.signal, sessionSettings([
    ...ledgerSettings({ label: options.label, leaseMs: options.leaseMs, ...limitsWithin(options.leaseMs) }),
    ...lockSettings(purpose, options.leaseMs),
    { name: 'sched.session', value: mark },
  ]))
  const here = ([row]: readonly SqlRow[]): SqlRow => {
    if (row !== undefined) return row
    const error = misdirected(`a statement of lock session ${id} ran on another session.`)
    session.lose(error)
    throw error
  }
  return {
    id, mark,
    sql: sqlSession(session, { id, begin: 'BEGIN' }),
    runHere: async (statement) => here((await session.run(statement)).rows),
    runBatchHere: async (text) => here((await session.runBatch(text)).rows),
    ping: () => ping(session),
    destroy: () => { session.destroy() },
    onLost: (callback) => { session.onLost(callback) },
  }
}

/** The core's limits for its own statements are not told here; these keep them inside a heartbeat of a third of the lease. */
function limitsWithin(leaseMs: number): { statementMs: number; rowLockMs: number } {
  return { statementMs: leaseMs / 4, rowLockMs: Math.min(1_000, leaseMs / 8) }
}

function misdirected(what: string): SchedError {
  return new SchedError('SCHED_UNSAFE_POOLER', what, { details: { errorClass: 'connection-lost' }, remedy: poolerRemedy })
}

export const poolerRemedy = 'Use session pooling, a direct connection, or the lock table (`lockTable(postgres(…))`, URL `locktable+postgres://…`).'
