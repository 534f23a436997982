import type { SqlRow } from '@sched/core/spi'
import { isServerError } from '../errors/classify.ts'
import type { PhysicalSession } from '../session/physical-session.ts'
import type { Identity } from './engine.ts'

/** What the findings are made from. Null: the server would not tell. */
export interface ServerFacts {
  readonly database: string
  readonly schema: string
  readonly readOnly: boolean
  readonly delayedDurability: string | null
  /** How the database's replica commits, where it is in an availability group. */
  readonly availabilityMode: string | null
  /** The account may read sys.dm_tran_locks, and the server has it. */
  readonly locksVisible: boolean
}

// https://learn.microsoft.com/sql/t-sql/functions/serverproperty-transact-sql; sql_variant is cast to what it is.
const identityStatement = `SELECT @@VERSION AS banner, DB_NAME() AS database_name, SCHEMA_NAME() AS schema_name,
 CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS product_version, CAST(SERVERPROPERTY('EngineEdition') AS int) AS engine_edition`

/** What any server that speaks TDS has: the rest may be beyond one that is not SQL Server. */
const leastIdentityStatement = 'SELECT @@VERSION AS banner, DB_NAME() AS database_name'

// READ_ONLY on a readable secondary of an availability group, and where the database was set so.
// https://learn.microsoft.com/sql/t-sql/functions/databasepropertyex-transact-sql
const updateabilityStatement = "SELECT CAST(DATABASEPROPERTYEX(DB_NAME(), 'Updateability') AS nvarchar(128)) AS updateability"

// https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-databases-transact-sql
const durabilityStatement = 'SELECT d.delayed_durability_desc AS delayed_durability FROM sys.databases d WHERE d.database_id = DB_ID()'

// https://learn.microsoft.com/sql/relational-databases/system-catalog-views/sys-availability-replicas-transact-sql
const availabilityStatement = 'SELECT r.availability_mode_desc AS availability_mode FROM sys.databases d JOIN sys.availability_replicas r ON r.replica_id = d.replica_id WHERE d.database_id = DB_ID()'

// The permission is checked when the view is read, so a row must be looked for.
const visibilityStatement = 'SELECT COUNT(*) AS held FROM sys.dm_tran_locks l WHERE l.request_session_id = @@SPID'

export async function readIdentity(session: PhysicalSession): Promise<{ readonly identity: Identity; readonly database: string; readonly schema: string }> {
  const row = await ask(session, identityStatement) ?? (await session.run({ text: leastIdentityStatement, params: [] }, 0)).rows[0] ?? {}
  return {
    identity: { banner: text(row, 'banner') ?? '', productVersion: text(row, 'product_version') ?? '', engineEdition: (row['engine_edition'] ?? null) as number | null },
    database: text(row, 'database_name') ?? '',
    schema: text(row, 'schema_name') ?? '',
  }
}

export async function readFacts(session: PhysicalSession, place: { readonly database: string; readonly schema: string }): Promise<ServerFacts> {
  const updateability = await ask(session, updateabilityStatement)
  const durability = await ask(session, durabilityStatement)
  const availability = await ask(session, availabilityStatement)
  return {
    database: place.database,
    schema: place.schema,
    readOnly: updateability !== undefined && text(updateability, 'updateability') === 'READ_ONLY',
    delayedDurability: durability === undefined ? null : text(durability, 'delayed_durability'),
    availabilityMode: availability === undefined ? null : text(availability, 'availability_mode'),
    locksVisible: await ask(session, visibilityStatement) !== undefined,
  }
}

/** The first row, or undefined where there is none or the server refuses: not every edition has every view, nor every login the right to it. */
async function ask(session: PhysicalSession, statement: string): Promise<SqlRow | undefined> {
  try {
    return (await session.run({ text: statement, params: [] }, 0)).rows[0]
  } catch (error) {
    if (!isServerError(error) || session.ended) throw error
    return undefined
  }
}

function text(row: SqlRow, column: string): string | null { return (row[column] ?? null) as string | null }
