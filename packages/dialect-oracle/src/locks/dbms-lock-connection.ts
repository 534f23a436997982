import { SchedError, type LockConnection, type OpenOptions, type SqlRow, type SqlSession } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { classifyOracle } from '../errors/classify.ts'
import { openSession } from '../session/open-session.ts'
import type { PhysicalSession } from '../session/physical-session.ts'
import type { PlSqlBlock } from '../session/plsql.ts'
import { rowLockWait } from '../session/row-lock-limit.ts'
import { ledgerSettings } from '../session/session-settings.ts'
import { sqlSession } from '../session/sql-session.ts'
import { autonomousBlock, elsewhere, type LockCall } from './lock-blocks.ts'
import { packageNotGranted } from './lock-grant.ts'
import { MappingAges } from './mapping-ages.ts'

/** A session that locks of DBMS_LOCK live on. */
export interface DbmsLockConnection extends LockConnection {
  readonly id: string
  readonly sql: SqlSession
  /** What a block about a lock of this session is made from. */
  readonly call: Omit<LockCall, 'lockName'>
  readonly ages: MappingAges
  /**
   * Runs a block that answers `status`; `waitMs` is how long it may wait in the server on top of its own time.
   * @throws SchedError SCHED_UNSAFE_POOLER when it ran on another session, SCHED_PERMISSION without EXECUTE on the package
   */
  ask(block: PlSqlBlock, waitMs?: number): Promise<SqlRow & { readonly status: number }>
}

/** What the first session has found out for all. The question goes to the dictionary: a waiting acquire should not have to ask it again. */
export interface LockServer { autonomous: boolean | undefined }

/** Always a connection of its own: ALLOCATE_UNIQUE commits, and must never meet a transaction of the user's. */
export async function openDbmsLockConnection(connector: Connector, server: LockServer, options: OpenOptions): Promise<DbmsLockConnection> {
  const limits = limitsWithin(options.leaseMs)
  const { session, id, mark } = await openSession(connector, options.signal, ledgerSettings(options.label, limits.rowLockMs), limits.statementMs)
  try {
    server.autonomous ??= (await session.call(autonomousBlock))['autonomous'] === 1
    return connectionOn(session, { id, call: { mark, autonomous: server.autonomous } }, limits)
  } catch (error) {
    session.destroy()
    throw error
  }
}

type Identity = Pick<DbmsLockConnection, 'id' | 'call'>

function connectionOn(session: PhysicalSession, { id, call }: Identity, limits: ReturnType<typeof limitsWithin>): DbmsLockConnection {
  const sql = sqlSession(session, { id, rowLock: rowLockWait(limits) })
  return {
    id, call, sql,
    ages: new MappingAges(),
    async ask(block, waitMs = 0) {
      // The driver's limit must end after the server's own: broken off in the middle of a grant, nobody knows who holds the lock.
      session.limitCalls(limits.statementMs + waitMs)
      try {
        const answer = await session.call(block)
        if (answer['status'] === elsewhere) throw misdirected(session, id)
        return answer as SqlRow & { readonly status: number }
      } catch (error) {
        throw classifyOracle(error) === 'permission' && !(error instanceof SchedError) ? packageNotGranted(error) : error
      } finally {
        session.limitCalls(limits.statementMs)
      }
    },
    ping: () => session.ping(),
    destroy: () => { session.destroy() },
    onLost: (callback) => { session.onLost(callback) },
  }
}

/** The core's deadlines are shorter and its own; these make the server stop as well. */
function limitsWithin(leaseMs: number): { statementMs: number; rowLockMs: number } {
  return { statementMs: Math.max(2_000, leaseMs / 4), rowLockMs: Math.min(1_000, leaseMs / 8) }
}

function misdirected(session: PhysicalSession, id: string): SchedError {
  const error = new SchedError('SCHED_UNSAFE_POOLER', `a statement of lock session ${id} ran on another session.`, {
    details: { errorClass: 'connection-lost' }, remedy: poolerRemedy,
  })
  session.lose(error)
  return error
}

export const poolerRemedy = 'Connect to a dedicated server (no `:pooled`, no traffic director in between), or use the lock table (`lockTable(oracle(…))`, URL `locktable+oracle://…`).'
