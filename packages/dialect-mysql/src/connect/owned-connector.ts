import { OpenSessions, orAborted } from '@sched/core/spi'
import { PhysicalSession, endConnection } from '../session/physical-session.ts'
import type { Connector } from './connector.ts'
import { loadDriver, type MysqlOwnConnection } from './driver.ts'

const ours = {
  // Without probes a peer that vanished is noticed after hours. Node asks for ten, a second apart, after this much silence:
  // https://nodejs.org/api/net.html#socketsetkeepaliveenable-initialdelay
  enableKeepAlive: true, keepAliveInitialDelay: 10_000,
  // A server must not be able to ask this process for files: https://dev.mysql.com/doc/refman/9.7/en/load-data-local-security.html
  flags: ['-LOCAL_FILES'],
}

/** Unpooled connections of our own: every session is a new one. `config` is what `mysql2.createConnection` takes. */
export function ownedConnector(config: object): Connector {
  const sessions = new OpenSessions('MySQL')
  return {
    limit: undefined,
    async connect(signal) {
      sessions.refuseWhenClosed()
      signal.throwIfAborted()
      const { createConnection } = await loadDriver()
      signal.throwIfAborted()
      // Connects at once; the session's listeners are on it before anything can happen.
      const connection = createConnection({ ...ours, ...config })
      const session = new PhysicalSession(connection, connection.promise(), () => {
        sessions.delete(session)
        endConnection(connection)
      })
      sessions.add(session)
      try {
        await orAborted(signal, connected(connection), () => { session.destroy() })
        sessions.refuseWhenClosed()
      } catch (error) {
        session.destroy()
        throw error
      }
      session.watchStream()
      return session
    },
    close() { sessions.close() },
  }
}

function connected(connection: MysqlOwnConnection): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.connect((error) => { if (error === null) resolve(); else reject(error) })
  })
}
