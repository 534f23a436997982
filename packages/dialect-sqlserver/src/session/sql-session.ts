import type { SqlSession } from '@sched/core/spi'
import { serverNumbers } from '../errors/classify.ts'
import type { OpenedSession } from './open-session.ts'
import type { PhysicalSession } from './physical-session.ts'

export interface SqlSessionOptions {
  /** The driver's limit for one statement: the server has none. It cancels by an attention, and the core then destroys the session. */
  readonly statementMs: number
  readonly isolation: 'read-committed' | 'as-configured'
}

/** A physical session as the core sees it. */
export function sqlSession<TClient>({ session, id }: OpenedSession<TClient>, { statementMs, isolation }: SqlSessionOptions): SqlSession<TClient> {
  const limitMs = Math.max(1, Math.ceil(statementMs))
  return {
    client: session.client,
    id,
    run: (statement) => session.run(statement, limitMs),
    begin: () => session.begin(isolation),
    commit: () => session.commit(), // 3902 when XACT_ABORT has rolled it back before: an error, class serialization
    rollback: () => rollback(session),
    ping: () => ping(session, limitMs),
    destroy: () => { session.destroy() },
    onLost: (callback) => { session.onLost(callback) },
  }
}

/** ROLLBACK without a transaction: XACT_ABORT, or a deadlock, has rolled it back already. It is what was asked for. */
const nothingToRollBack = 3903

async function rollback(session: PhysicalSession): Promise<void> {
  try {
    await session.rollback()
  } catch (error) {
    if (!serverNumbers(error).includes(nothingToRollBack)) throw error
  }
}

/** The shortest round trip; it also keeps gateways from cutting an idle connection (Azure: after 30 minutes). */
export async function ping(session: PhysicalSession, limitMs: number): Promise<void> {
  await session.batch('SELECT 1 AS alive', limitMs)
}
