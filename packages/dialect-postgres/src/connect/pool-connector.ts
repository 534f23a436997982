import { OpenSessions, orAborted, SchedError } from '@sched/core/spi'
import { sqlState } from '../errors/classify.ts'
import type { Connector } from './connector.ts'
import type { PgInternals, PgPool, PgPoolClient } from './pg-client.ts'
import { endClient, PhysicalSession } from '../session/physical-session.ts'

/** Clients of the user's pool. What was borrowed is closed in the end and never goes back: our settings are on it. */
export function poolConnector<TClient extends PgPoolClient>(pool: PgPool<TClient>): Connector<TClient> {
  const sessions = new OpenSessions('PostgreSQL')
  return {
    limit: pool.options?.max,
    async connect(signal) {
      sessions.refuseWhenClosed()
      signal.throwIfAborted()
      const client = await orAborted(signal, pool.connect(), discard)
      const close = takeOver(client)
      const session = new PhysicalSession(client, () => {
        sessions.delete(session)
        close()
      })
      sessions.add(session)
      session.watchStream()
      try {
        sessions.refuseWhenClosed()
        await orAborted(signal, requireUsable(session))
      } catch (error) {
        session.destroy()
        throw error
      }
      return session
    },
    close() { sessions.close() },
  }
}

/** A client that arrives when nobody waits any more. */
function discard(late: Promise<PgPoolClient>): void {
  late.then((client) => {
    client.on('error', () => {}) // closed in the next line: what it has to say concerns nobody
    takeOver(client)()
  }, () => {}) // no client after all; the caller has been told that the opening was aborted
}

/**
 * Answers what closes the client: `release(true)` makes the pool end it and count it out, https://node-postgres.com/apis/pool#releasing-clients
 * Nobody else may release it: user code in ctx.transaction would give the pool, and so the application, a client with our settings
 * and an open transaction on it.
 */
function takeOver(client: PgPoolClient): () => void {
  const release = client.release.bind(client)
  client.release = () => {
    throw new SchedError('SCHED_OPTION_INVALID', 'the client of ctx.transaction belongs to @sched and is closed by it.', { remedy: 'Do not release it.' })
  }
  return () => {
    release(true)
    endClient(client)
  }
}

/**
 * A client that was put back inside an open transaction would undo our settings with its rollback. A transaction-local setting
 * that is still there in the next statement gives it away. https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-SET
 */
async function requireUsable(session: PhysicalSession<PgPoolClient>): Promise<void> {
  if ((session.client as PgInternals).binary === true) {
    throw new SchedError('SCHED_OPTION_INVALID', 'the pool has `binary: true`, which this dialect cannot read.', { remedy: 'Give @sched a pool without it, or a URL.' })
  }
  try {
    await session.run({ text: "SELECT pg_catalog.set_config('sched.borrowed', 'yes', true)", params: [] })
    const { rows: [row] } = await session.run({ text: "SELECT pg_catalog.current_setting('sched.borrowed', true) AS borrowed", params: [] })
    if (row?.['borrowed'] !== 'yes') return
  } catch (error) {
    // 25P02 in_failed_sql_transaction: the open transaction has failed already.
    if (sqlState(error) !== '25P02') throw error
  }
  throw new SchedError('SCHED_SESSION_LOST', 'the pool lent a client that was in the middle of a transaction; it was closed.', {
    details: { errorClass: 'connection-lost' }, remedy: 'Release clients to the pool only after COMMIT or ROLLBACK.',
  })
}
