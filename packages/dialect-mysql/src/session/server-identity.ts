import type { SqlRow } from '@sched/core/spi'
import type { Vendor } from '../errors/vendor.ts'
import type { PhysicalSession } from './physical-session.ts'

/** What every session needs to know of the server it is on. */
export interface ServerIdentity {
  readonly vendor: Vendor
  /** The id of the session on the server. */
  readonly sessionId: number
  /** True on a node of a Galera cluster. */
  readonly galera: boolean
  /** Those that were asked for and that it knows; names in lower case. */
  readonly settings: ReadonlyMap<string, string>
}

// https://dev.mysql.com/doc/refman/9.7/en/show-variables.html: names that the server does not know are left out instead of being an
// error, so one statement suits all. pseudo_thread_id is the session's own id; CONNECTION_ID() may be answered by a proxy.
// The version in the handshake is what a proxy likes to say.
// The last three tell which of the two ways to limit statements and idle transactions there is.
const always = ['version', 'version_comment', 'pseudo_thread_id', 'wsrep_on', 'max_execution_time', 'max_statement_time', 'idle_transaction_timeout']

/** Asks once, with more settings if the caller wants them, and tells the session whose errors it will see. */
export async function identify(session: PhysicalSession, more: readonly string[] = []): Promise<ServerIdentity> {
  const names = [...new Set([...always, ...more])]
  const { rows } = await session.run({
    text: `SHOW SESSION VARIABLES WHERE Variable_name IN (${names.map(() => '?').join(', ')})`, params: names,
  })
  const settings = new Map(rows.map((row: SqlRow) => [String(row['variable_name']).toLowerCase(), String(row['value'])]))
  const vendor = /mariadb/i.test(settings.get('version') ?? '') ? 'mariadb' : 'mysql'
  session.vendor = vendor
  return { vendor, settings, galera: settings.get('wsrep_on') === 'ON', sessionId: Number(settings.get('pseudo_thread_id') ?? session.threadId) }
}
