import { OpenSessions, orAborted } from '@sched/core/spi'
import { endClient } from '../session/end-client.ts'
import { PhysicalSession } from '../session/physical-session.ts'
import { asksForPooledServer, type Connector } from './connector.ts'
import { loadDriver, type LoadDriver } from './driver.ts'
import type { OracleConnection } from './oracle-client.ts'

// Minutes of silence after which the kernel asks whether the peer is still there; the driver's default is the system's two hours.
// https://node-oracledb.readthedocs.io/en/latest/api_manual/oracledb.html#oracledb.getConnection (expireTime)
const keepAlive = { expireTime: 1 }
// Seconds until a listener that says nothing is given up, whoever has stopped waiting for it.
const giveUp = { connectTimeout: 10 }

/** Standalone connections of our own: every session is a new one. `config` is what `oracledb.getConnection` takes. */
export function ownedConnector(config: { readonly connectString?: string }, load: LoadDriver = loadDriver): Connector {
  const sessions = new OpenSessions('Oracle')
  return {
    limit: undefined,
    pooledServer: asksForPooledServer(config.connectString),
    async connect(signal) {
      sessions.refuseWhenClosed()
      signal.throwIfAborted()
      const driver = await load()
      signal.throwIfAborted()
      // The driver cannot be told to give up: a connection that comes too late is closed when it comes.
      const client = await orAborted(signal, driver.getConnection({ ...keepAlive, ...giveUp, ...config }), discard)
      const session = new PhysicalSession(client, driver, () => { sessions.delete(session) })
      sessions.add(session)
      try {
        sessions.refuseWhenClosed()
      } catch (error) {
        session.destroy()
        throw error
      }
      return session
    },
    close() { sessions.close() },
  }
}

/** A connection that arrives when nobody waits any more. */
function discard(late: Promise<OracleConnection>): void {
  late.then((client) => { endClient(client, () => client.close(), { busy: false, pooled: false }) }, () => {}) // no connection after all; the caller has been told
}
