import { classifyMysql } from '../errors/classify.ts'
import type { PhysicalSession } from '../session/physical-session.ts'
import type { ServerIdentity } from '../session/server-identity.ts'

/** What the findings are made from, beside the server's settings. */
export interface ServerFacts extends ServerIdentity {
  readonly database: string
  /** The handshake gave another session id than the server has. */
  readonly proxied: boolean
  /** Null: this account may not know. */
  readonly replica: boolean | null
  /** Members of a replication group, this one included; 0 when there is none. */
  readonly groupMembers: number
}

/** Settings that the findings look at. */
export const probedSettings: readonly string[] = [
  'read_only', 'super_read_only', 'innodb_read_only', 'transaction_read_only', 'tx_read_only', 'group_replication_group_name', 'group_replication_single_primary_mode',
  'innodb_flush_log_at_trx_commit', 'innodb_rollback_on_timeout', 'max_connections', 'max_user_connections', 'wsrep_cluster_size',
]

export async function readFacts(session: PhysicalSession, identity: ServerIdentity): Promise<ServerFacts> {
  const { rows: [row] } = await session.run({ text: 'SELECT DATABASE() AS name', params: [] })
  return {
    ...identity,
    database: String(row?.['name'] ?? ''),
    proxied: session.threadId !== identity.sessionId,
    replica: await isReplica(session, identity),
    groupMembers: await groupMembers(session, identity),
  }
}

/**
 * A row: it copies from another server, running or not. https://dev.mysql.com/doc/refman/9.7/en/show-replica-status.html,
 * https://mariadb.com/docs/server/reference/sql-statements/administrative-sql-statements/show/show-replica-status
 * MySQL before 8.0.22 and MariaDB before 10.5 know the old name alone, MySQL from 8.4 the new one.
 */
async function isReplica(session: PhysicalSession, { vendor }: ServerIdentity): Promise<boolean | null> {
  for (const statement of vendor === 'mariadb' ? ['SHOW ALL SLAVES STATUS'] : ['SHOW REPLICA STATUS', 'SHOW SLAVE STATUS']) {
    try {
      return (await session.run({ text: statement, params: [] })).rows.length > 0
    } catch (error) {
      const errorClass = classifyMysql(error)
      if (errorClass === 'permission') return null
      if (errorClass !== 'unsupported') throw error
    }
  }
  return null
}

/** https://dev.mysql.com/doc/refman/9.7/en/performance-schema-replication-group-members-table.html; MariaDB has no such thing */
async function groupMembers(session: PhysicalSession, { settings }: ServerIdentity): Promise<number> {
  const group = settings.get('group_replication_group_name') ?? ''
  if (group === '') return 0
  try {
    const { rows: [row] } = await session.run({ text: "SELECT COUNT(*) AS members FROM performance_schema.replication_group_members WHERE MEMBER_STATE <> 'OFFLINE'", params: [] })
    return row?.['members'] as number
  } catch (error) {
    if (classifyMysql(error) !== 'permission') throw error
    return 1 // it has the name of a group, so it is in one or will be
  }
}
