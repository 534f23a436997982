import { OpenSessions, orAborted, SchedError } from '@sched/core/spi'
import { canBeDropped, endClient } from '../session/end-client.ts'
import { PhysicalSession } from '../session/physical-session.ts'
import { asksForPooledServer, type Connector } from './connector.ts'
import { loadDriver, type LoadDriver } from './driver.ts'
import type { OracleConnection, OraclePool } from './oracle-client.ts'

/** Connections of the user's pool. What was borrowed is dropped in the end and never goes back: our settings, or a lock, are on it. */
export function poolConnector<TClient extends OracleConnection>(pool: OraclePool<TClient>, load: LoadDriver = loadDriver): Connector<TClient> {
  const sessions = new OpenSessions('Oracle')
  return {
    limit: pool.poolMax,
    pooledServer: asksForPooledServer(pool.connectString),
    async connect(signal) {
      sessions.refuseWhenClosed()
      signal.throwIfAborted()
      const driver = await load()
      const client = await orAborted(signal, pool.getConnection(), discard)
      if (!canBeDropped(client)) {
        await client.close()
        throw new SchedError('SCHED_UNSAFE_POOLER', 'this version of oracledb would give a connection with our lock on it back to the pool.', { remedy: 'Give @sched a URL or a configuration, or use another version.' })
      }
      const session = new PhysicalSession(client, driver, () => { sessions.delete(session) }, takeOver(client))
      sessions.add(session)
      try {
        sessions.refuseWhenClosed()
        // An open transaction of the last borrower cannot be here: the driver rolls back what is returned.
        // https://node-oracledb.readthedocs.io/en/latest/user_guide/txn_management.html
      } catch (error) {
        session.destroy()
        throw error
      }
      return session
    },
    close() { sessions.close() },
  }
}

/** A connection that arrives when nobody waits any more: nothing of ours is on it yet. */
function discard(late: Promise<OracleConnection>): void {
  late.then((client) => { endClient(client, takeOver(client), { busy: false, pooled: true }) }, () => {}) // no connection after all; the caller has been told
}

/**
 * Answers what ends the connection: `close({ drop: true })` makes the pool end it and count it out
 * (https://node-oracledb.readthedocs.io/en/latest/api_manual/connection.html#connection.close).
 * Nobody else may close it: user code in ctx.transaction would give the pool a connection with our settings on it.
 */
function takeOver(client: OracleConnection): () => Promise<void> {
  const close = client.close.bind(client)
  client.close = () => {
    throw new SchedError('SCHED_OPTION_INVALID', 'the connection of ctx.transaction belongs to @sched and is closed by it.', { remedy: 'Do not close it.' })
  }
  return () => close({ drop: true })
}
