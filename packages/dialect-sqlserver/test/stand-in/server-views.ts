import { createHash } from 'node:crypto'
import type { SQLInputValue } from 'node:sqlite'
import type { SessionFunctions, SystemRows } from './sql-engine.ts'
import type { StandInSession } from './stand-in-session.ts'
import type { TdsServerStandIn } from './tds-server-stand-in.ts'

const databaseId = 5

/** System views as far as the dialect reads them. Columns: the pages of the views under https://learn.microsoft.com/sql/relational-databases/ */
export function systemViews(server: TdsServerStandIn, session: StandInSession): readonly SystemRows[] {
  const { options } = server
  return [
    {
      // `<principal id>:[<first 32 characters>]:(<hash>)`
      table: 'sys_dm_tran_locks', columns: ['resource_type', 'resource_database_id', 'request_session_id', 'resource_description', 'request_status', 'request_owner_type'],
      rows: () => server.applocks.rows().map((row) => ['APPLICATION', databaseId, row.session, `0:[${row.resource.slice(0, 32)}]:(${createHash('sha1').update(row.resource).digest('hex').slice(0, 8)})`, row.status, row.owner.toUpperCase()]),
    },
    {
      // Without VIEW SERVER STATE a login sees its own session only.
      table: 'sys_dm_exec_sessions', columns: ['session_id', 'host_name', 'login_name', 'program_name', 'context_info', 'database_id'],
      rows: () => server.sessions().filter((each) => session.seesServer || each === session)
        .map((each) => [each.id, each.login?.host ?? '', each.login?.user ?? '', each.login?.application ?? '', each.contextInfo, databaseId]),
    },
    { table: 'sys_databases', columns: ['database_id', 'delayed_durability_desc', 'replica_id'], rows: () => [[databaseId, options.delayedDurability, options.availabilityMode === undefined ? null : 'replica']] },
    { table: 'sys_availability_replicas', columns: ['replica_id', 'availability_mode_desc'], rows: () => [['replica', options.availabilityMode ?? null]] },
  ]
}

export function sessionFunctions(server: TdsServerStandIn, session: StandInSession): SessionFunctions {
  const { options } = server
  const place = (principal: string, resource: string) => ({ database: options.kind === 'sql-server' ? options.database : '*', principal, resource })
  const functions: Record<string, (...values: string[]) => SQLInputValue> = {
    at_spid: () => session.id,
    at_version: () => options.banner,
    at_trancount: () => (session.inTransaction ? 1 : 0),
    db_id: () => databaseId,
    db_name: () => options.database,
    schema_name: () => 'dbo',
    serverproperty: (name) => ({ ProductVersion: options.productVersion, EngineEdition: String(options.engineEdition) })[name ?? ''] ?? null,
    databasepropertyex: (_database, name) => (name === 'Updateability' ? options.readOnly ? 'READ_ONLY' : 'READ_WRITE' : null),
    charindex: (part, text) => (text ?? '').toLowerCase().indexOf((part ?? '').toLowerCase()) + 1, // the server's default collation ignores case
    applock_mode: (principal, resource, owner) => server.applocks.mode(session.id, owner === 'Session' ? 'Session' : 'Transaction', place(principal ?? '', resource ?? '')),
    applock_test: (principal, resource) => server.applocks.test(session.id, place(principal ?? '', resource ?? '')),
  }
  return functions
}
