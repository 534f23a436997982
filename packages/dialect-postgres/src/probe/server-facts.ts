import type { SqlRow } from '@sched/core/spi'
import type { PhysicalSession } from '../session/physical-session.ts'

/** What the findings are made from. Null: the server knows no such setting. */
export interface ServerFacts {
  readonly versionNumber: number | null
  readonly database: string
  readonly schema: string | null
  readonly standby: boolean
  readonly readOnly: boolean
  readonly fsync: string | null
  readonly fullPageWrites: string | null
  readonly synchronousCommit: string | null
  /** Text with its unit, `0` for none. */
  readonly idleSessionTimeout: string | null
  readonly encoding: string | null
  /** Connections an ordinary role may have here: the server's, the database's and the role's limit together. */
  readonly connections: number | null
  readonly lockSlots: number | null
}

// https://www.postgresql.org/docs/current/runtime-config.html; current_setting with true gives NULL for a setting that is not there.
const setting = (name: string): string => `pg_catalog.current_setting('${name}', true)`

// -1 is "no limit": https://www.postgresql.org/docs/current/catalog-pg-database.html, https://www.postgresql.org/docs/current/view-pg-roles.html
const statement = `SELECT ${setting('server_version_num')}::int AS version_number,
 pg_catalog.current_database() AS database, pg_catalog.current_schema() AS schema,
 pg_catalog.pg_is_in_recovery() AS standby, ${setting('transaction_read_only')} = 'on' AS read_only,
 ${setting('fsync')} AS fsync, ${setting('full_page_writes')} AS full_page_writes, ${setting('synchronous_commit')} AS synchronous_commit,
 ${setting('idle_session_timeout')} AS idle_session_timeout, ${setting('server_encoding')} AS encoding,
 least(${setting('max_connections')}::int - ${setting('superuser_reserved_connections')}::int - coalesce(${setting('reserved_connections')}::int, 0),
  (SELECT nullif(d.datconnlimit, -1) FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()),
  (SELECT nullif(r.rolconnlimit, -1) FROM pg_catalog.pg_roles r WHERE r.rolname = current_user)) AS connections,
 ${setting('max_locks_per_transaction')}::int * (${setting('max_connections')}::int + ${setting('max_prepared_transactions')}::int) AS lock_slots`

export async function readFacts(session: PhysicalSession): Promise<ServerFacts> {
  const { rows: [row = {}] } = await session.run({ text: statement, params: [] })
  return {
    versionNumber: number(row, 'version_number'),
    database: text(row, 'database') ?? '',
    schema: text(row, 'schema'),
    standby: row['standby'] === 1,
    readOnly: row['read_only'] === 1,
    fsync: text(row, 'fsync'),
    fullPageWrites: text(row, 'full_page_writes'),
    synchronousCommit: text(row, 'synchronous_commit'),
    idleSessionTimeout: text(row, 'idle_session_timeout'),
    encoding: text(row, 'encoding'),
    connections: number(row, 'connections'),
    lockSlots: number(row, 'lock_slots'),
  }
}

function text(row: SqlRow, column: string): string | null { return (row[column] ?? null) as string | null }

function number(row: SqlRow, column: string): number | null { return (row[column] ?? null) as number | null }
