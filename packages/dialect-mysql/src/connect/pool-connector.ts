import { OpenSessions, orAborted, SchedError } from '@sched/core/spi'
import { PhysicalSession, endConnection } from '../session/physical-session.ts'
import { inTransaction } from '../session/row-values.ts'
import type { Connector } from './connector.ts'
import type { MysqlConnection, MysqlPool, MysqlPoolInternals, MysqlPromiseConnection, MysqlPromisePool } from './mysql-client.ts'

/** What a pool lent: the driver's connection, and what the user knows it as. */
interface Borrowed { readonly connection: MysqlConnection; readonly client: unknown }

/** Connections of the user's pool. What was borrowed is closed in the end and never goes back: our settings are on it. */
export function poolConnector(pool: MysqlPool): Connector {
  const sessions = new OpenSessions('MySQL')
  return {
    limit: limitOf(pool),
    async connect(signal) {
      sessions.refuseWhenClosed()
      signal.throwIfAborted()
      const { connection, client } = await orAborted(signal, borrow(pool), discard)
      const session = new PhysicalSession(connection, client, () => {
        sessions.delete(session)
        endConnection(connection)
      })
      sessions.add(session)
      session.watchStream()
      try {
        sessions.refuseWhenClosed()
        await orAborted(signal, requireUsable(session), () => { session.destroy() })
      } catch (error) {
        session.destroy()
        throw error
      }
      return session
    },
    close() { sessions.close() },
  }
}

/** A pool of `mysql2/promise` wraps one of `mysql2`, and lends wrapped connections. */
function isPromisePool(pool: MysqlPool): pool is MysqlPromisePool {
  return (pool as MysqlPoolInternals).pool !== undefined
}

async function borrow(pool: MysqlPool): Promise<Borrowed> {
  if (isPromisePool(pool)) {
    const client: MysqlPromiseConnection = await pool.getConnection()
    return { connection: client.connection as MysqlConnection, client }
  }
  return new Promise((resolve, reject) => {
    pool.getConnection((error, connection) => {
      if (error === null || error === undefined) resolve({ connection, client: connection })
      else reject(error)
    })
  })
}

function limitOf(pool: MysqlPool): number | undefined {
  const { config, pool: inner } = pool as MysqlPoolInternals
  const limit = (inner?.config ?? config)?.connectionLimit
  return limit === 0 ? undefined : limit
}

/** A connection that arrives when nobody waits any more. */
function discard(late: Promise<Borrowed>): void {
  late.then(({ connection }) => {
    connection.on('error', () => {}) // closed in the next line: what it has to say concerns nobody
    endConnection(connection)
  }, () => {}) // no connection after all; the caller has been told that the opening was aborted
}

/** A connection that was put back inside an open transaction would undo our work with its rollback, or commit what is not ours. */
async function requireUsable(session: PhysicalSession): Promise<void> {
  // https://dev.mysql.com/doc/refman/9.7/en/do.html: answers with the state of the session, and no rows.
  if (!inTransaction(await session.command('DO 0'))) return
  throw new SchedError('SCHED_SESSION_LOST', 'the pool lent a connection that was in the middle of a transaction; it was closed.', {
    details: { errorClass: 'connection-lost' }, remedy: 'Release connections to the pool only after COMMIT or ROLLBACK.',
  })
}
