import { oracle } from '../../../dialect-oracle/src/index.ts'
import { OracleServerStandIn } from '../../../dialect-oracle/test/stand-in/server-stand-in.ts'
import { wireServerStandIn } from '../../../dialect-oracle/test/stand-in/wire-server-stand-in.ts'
import { sqlserver } from '../../../dialect-sqlserver/src/index.ts'
import { TdsServerStandIn } from '../../../dialect-sqlserver/test/stand-in/tds-server-stand-in.ts'
import type { OpenStore } from './store-ground.ts'

/**
 * Where there is no such server: the dialect and its real driver, talking to a stand-in at the wire that refuses whatever it does not know.
 * It shows that each statement of the ledger has a form that the dialect's vendor documents, and nothing of how a real server behaves.
 */
export const standIns: Readonly<Record<string, () => Promise<OpenStore>>> = {
  'SQL Server': async () => {
    const server = await TdsServerStandIn.start()
    return {
      connect: () => sqlserver({ url: server.url }),
      end: async () => {
        await server[Symbol.asyncDispose]()
        const reports = server.reports()
        if (reports.length > 0) throw new AggregateError(reports, 'the stand-in for SQL Server could not do what it was asked')
      },
    }
  },
  Oracle: async () => {
    const wire = await wireServerStandIn(new OracleServerStandIn({}), {})
    return { connect: () => oracle({ url: wire.url }), end: () => wire.close() }
  },
}
