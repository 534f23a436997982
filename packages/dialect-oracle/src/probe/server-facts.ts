import type { SqlRow } from '@sched/core/spi'
import type { PhysicalSession } from '../session/physical-session.ts'
import type { PlSqlBlock } from '../session/plsql.ts'
import { orElse } from './or-else.ts'

/** What the findings are made from. Undefined: this account may not know. */
export interface ServerFacts {
  readonly version: string
  /** The pluggable database, or the database where there are none. */
  readonly container: string
  readonly schema: string
  /** Connected to the root of a container database, where applications have no business. */
  readonly root: boolean
  readonly cluster: boolean
  /** `PRIMARY`, `PHYSICAL STANDBY`, … */
  readonly role: string
  /** `READ WRITE`, `READ ONLY`, `READ ONLY WITH APPLY`, … */
  readonly openMode: string | undefined
  readonly autonomous: boolean
  readonly characterSet: string | undefined
  /** From the account's profile; undefined without a limit. */
  readonly idleMinutes: number | undefined
  readonly connectMinutes: number | undefined
  readonly sessionsPerUser: number | undefined
}

// Nothing here needs a privilege. SYS_CONTEXT: https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/SYS_CONTEXT.html;
// CLOUD_SERVICE is younger than the oldest server we talk to, which answers ORA-02003 (invalid USERENV parameter).
// IS_CLUSTER_DATABASE: https://docs.oracle.com/en/database/oracle/oracle-database/23/arpls/DBMS_UTILITY.html
const contextBlock: PlSqlBlock = {
  text: `DECLARE
  no_such_parameter EXCEPTION;
  PRAGMA EXCEPTION_INIT(no_such_parameter, -2003);
BEGIN
  :database_name := SYS_CONTEXT('USERENV', 'DB_NAME');
  :container_name := SYS_CONTEXT('USERENV', 'CON_NAME');
  :schema_name := SYS_CONTEXT('USERENV', 'CURRENT_SCHEMA');
  :database_role := SYS_CONTEXT('USERENV', 'DATABASE_ROLE');
  :cluster_flag := CASE WHEN SYS.DBMS_UTILITY.IS_CLUSTER_DATABASE THEN 1 ELSE 0 END;
  BEGIN
    :cloud_service := SYS_CONTEXT('USERENV', 'CLOUD_SERVICE');
  EXCEPTION WHEN no_such_parameter THEN :cloud_service := NULL;
  END;
END;`,
  binds: {},
  out: { database_name: 'text', container_name: 'text', schema_name: 'text', database_role: 'text', cluster_flag: 'number', cloud_service: 'text' },
}

// https://docs.oracle.com/en/database/oracle/oracle-database/23/refrn/NLS_DATABASE_PARAMETERS.html
const characterSet = "SELECT value FROM nls_database_parameters WHERE parameter = 'NLS_CHARACTERSET'"
// https://docs.oracle.com/en/database/oracle/oracle-database/23/refrn/V-DATABASE.html: in a PDB the mode of the PDB
const openMode = 'SELECT open_mode AS value FROM v$database'
// https://docs.oracle.com/en/database/oracle/oracle-database/23/refrn/USER_RESOURCE_LIMITS.html: a number, UNLIMITED or DEFAULT
const limits = 'SELECT resource_name, limit AS value FROM user_resource_limits'

export async function readFacts(session: PhysicalSession): Promise<ServerFacts> {
  const context = await session.call(contextBlock)
  const rows = async (text: string): Promise<readonly SqlRow[]> => (await session.run({ text, params: [] }, true)).rows
  // A view that this account may not see costs a fact, not the probe.
  const ask = (text: string): Promise<readonly SqlRow[]> => orElse(['missing-table', 'permission'], () => rows(text), [])
  const one = async (text: string): Promise<string | undefined> => valueOf((await ask(text))[0])
  const resources = new Map((await ask(limits)).map((row) => [String(row['resource_name']), Number(row['value'])]))
  const limit = (name: string): number | undefined => {
    const value = resources.get(name)
    return value === undefined || Number.isNaN(value) ? undefined : value
  }
  const container = String(context['container_name'] ?? context['database_name'] ?? '')
  return {
    version: session.client.oracleServerVersionString ?? '(version unknown)',
    container, schema: String(context['schema_name'] ?? ''),
    root: container === 'CDB$ROOT',
    cluster: context['cluster_flag'] === 1,
    role: String(context['database_role'] ?? 'PRIMARY'),
    openMode: await one(openMode),
    autonomous: typeof context['cloud_service'] === 'string',
    characterSet: await one(characterSet),
    idleMinutes: limit('IDLE_TIME'), connectMinutes: limit('CONNECT_TIME'), sessionsPerUser: limit('SESSIONS_PER_USER'),
  }
}

function valueOf(row: SqlRow | undefined): string | undefined {
  const value = row?.['value']
  return value === null || value === undefined ? undefined : String(value)
}
