import type { Statement } from '@sched/core/spi'

/** One run-time setting. https://www.postgresql.org/docs/current/config-setting.html#CONFIG-SETTING-SQL */
export interface Setting {
  readonly name: string
  readonly value: string | number
  /** A condition in SQL; the setting is left alone where it does not hold. */
  readonly when?: string
}

/** True in SQL where this server knows the setting. The second argument makes an unknown one NULL instead of an error. */
export function serverKnows(setting: string): string {
  return `pg_catalog.current_setting('${setting}', true) IS NOT NULL`
}

/**
 * Sets them all for the session, after connecting: as startup parameters they would be refused by PgBouncer
 * (https://www.pgbouncer.org/config.html#ignore_startup_parameters). Answers the id of the session: PgBouncer gives clients
 * numbers of its own, so the driver's `processID` is not it.
 */
export function sessionSettings(settings: readonly Setting[]): Statement {
  return {
    text: `SELECT pg_catalog.pg_backend_pid() AS session_id, ${settings.map((setting) => assignment(setting, '?', 'false')).join(', ')}`,
    params: settings.map(({ value }) => String(value)),
  }
}

/** Sets them for the transaction that it follows in the same message: behind a transaction pooler a session belongs to nobody. */
export function transactionSettings(settings: readonly Setting[]): string {
  return `SELECT ${settings.map((setting) => assignment(setting, literal(setting.value), 'true')).join(', ')}`
}

/** https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-SET: the last argument says transaction or session. */
function assignment({ name, when }: Setting, value: string, local: string): string {
  const call = `pg_catalog.set_config('${name}', ${value}, ${local})`
  return when === undefined ? call : `CASE WHEN ${when} THEN ${call} END`
}

function literal(value: string | number): string { return `'${String(value).replaceAll("'", "''")}'` }
