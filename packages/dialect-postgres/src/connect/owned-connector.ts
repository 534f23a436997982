import { OpenSessions, orAborted } from '@sched/core/spi'
import type { Connector } from './connector.ts'
import { loadDriver } from './driver.ts'
import type { PgOwnedClient } from './pg-client.ts'
import { endClient, PhysicalSession } from '../session/physical-session.ts'

// Off in the driver by default; without it a peer that vanished is noticed after hours. https://node-postgres.com/apis/client
// Node asks the kernel for ten probes a second apart after this: https://nodejs.org/api/net.html#socketsetkeepaliveenable-initialdelay
const keepAlive = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 }

/** Unpooled clients of our own: every session is a new connection. `config` is what `new pg.Client` takes. */
export function ownedConnector(config: object): Connector<PgOwnedClient> {
  const sessions = new OpenSessions('PostgreSQL')
  return {
    limit: undefined,
    async connect(signal) {
      sessions.refuseWhenClosed()
      signal.throwIfAborted()
      const { Client } = await loadDriver()
      signal.throwIfAborted()
      // With its listeners before it connects: what fails later than the promise settles comes as an event.
      const client = new Client({ ...keepAlive, ...config })
      const session = new PhysicalSession(client, () => {
        sessions.delete(session)
        endClient(client)
      })
      sessions.add(session)
      try {
        await orAborted(signal, client.connect())
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
