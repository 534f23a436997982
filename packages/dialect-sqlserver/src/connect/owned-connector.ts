import { OpenSessions, orAborted } from '@sched/core/spi'
import { PhysicalSession } from '../session/physical-session.ts'
import { programName } from '../session/session-label.ts'
import type { Connector } from './connector.ts'
import { loadDriver } from './driver.ts'
import type { TediousConnection, TediousMessage, TediousOwnedConnection } from './tedious-types.ts'

/** What `new tedious.Connection` takes. https://tediousjs.github.io/tedious/api-connection.html#function_newConnection */
export interface TediousConfig { readonly server: string; readonly options?: object | undefined; readonly authentication?: object | undefined }

// The core decides about another try; the driver's own would come first, three times half a second, for a wrong database name too.
const noRetries = { maxRetriesOnTransientErrors: 0 }

/** Unpooled connections of our own: every session is a new one. */
export function ownedConnector(config: TediousConfig): Connector<TediousConnection> {
  const sessions = new OpenSessions('SQL Server')
  return {
    limit: undefined,
    unnamed: false,
    async connect(signal, label) {
      sessions.refuseWhenClosed()
      signal.throwIfAborted()
      const driver = loadDriver('tedious')
      const connection = new driver.Connection({ ...config, options: { ...config.options, ...noRetries, appName: programName(label) } })
      // With its listeners before it connects: what fails later than the promise settles comes as an event.
      const session = new PhysicalSession<TediousConnection>({
        driver, connection, client: connection,
        release: () => {
          sessions.delete(session)
          connection.close()
        },
      })
      sessions.add(session)
      try {
        await orAborted(signal, established(connection), (late) => {
          session.destroy()
          // Before tedious 20 (a copy of mssql may be older) a connection that is closed while it connects connects all the same.
          late.then(() => { connection.close() }, () => {}) // it has failed, as was wanted
        })
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

/** The driver's error of a refused login has no number, and the text of the last message; the reason is the first (then comes 18456, whatever it was). */
function established(connection: TediousOwnedConnection): Promise<void> {
  let refusal: TediousMessage | undefined
  connection.on('errorMessage', ({ number, message }) => { refusal ??= { number, message } })
  return new Promise((resolve, reject) => {
    connection.connect((error) => {
      if (error === undefined || error === null) resolve()
      else reject(refusal === undefined ? error : Object.assign(error, refusal))
    })
  })
}
