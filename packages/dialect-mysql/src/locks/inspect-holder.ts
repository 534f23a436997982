import type { LockHolder, SqlRow, SqlSession } from '@sched/core/spi'
import { classifyMysql } from '../errors/classify.ts'

/**
 * The session that holds a lock, and what this account may see of it. Without PROCESS only sessions of the same account show:
 * https://dev.mysql.com/doc/refman/9.7/en/information-schema-processlist-table.html. Nobody knows since when a lock is held.
 */
const sessionOf = `SELECT h.session_id, p.USER AS user_name, p.HOST AS host, CURRENT_USER() AS me
 FROM (SELECT IS_USED_LOCK(?) AS session_id FROM DUAL) h LEFT JOIN information_schema.PROCESSLIST p ON p.ID = h.session_id`

/** https://dev.mysql.com/doc/refman/9.7/en/performance-schema-user-variable-tables.html, https://dev.mysql.com/doc/refman/9.7/en/performance-schema-threads-table.html */
const labelOf = `SELECT CAST(v.VARIABLE_VALUE AS CHAR) AS label FROM performance_schema.threads t
 JOIN performance_schema.user_variables_by_thread v ON v.THREAD_ID = t.THREAD_ID AND v.VARIABLE_NAME = 'sched_label' WHERE t.PROCESSLIST_ID = ?`

export async function inspectHolder(sql: SqlSession, key: string): Promise<LockHolder | null> {
  const { rows: [row] } = await sql.run({ text: sessionOf, params: [key] })
  if (row === undefined || row['session_id'] === null) return null
  const sessionId = row['session_id'] as number
  const label = await labelFor(sql, sessionId)
  const hidden = [
    ...(row['user_name'] === null ? [`the session of another account: GRANT PROCESS ON *.* TO ${account(row)}`] : []),
    ...(label === 'not-permitted' ? [`the label of its process: GRANT SELECT ON performance_schema.* TO ${account(row)}`] : []),
  ]
  return {
    sessionId,
    ...(typeof row['user_name'] === 'string' ? { user: row['user_name'] } : {}),
    ...(typeof row['host'] === 'string' && row['host'] !== '' ? { host: withoutPort(row['host']) } : {}),
    ...(typeof label === 'object' ? { ownerLabel: label.label } : {}),
    ...(hidden.length === 0 ? {} : { notPermitted: hidden.join('; ') }),
  }
}

/** Not there: performance_schema is off (MariaDB's default), or the session is not one of ours. */
async function labelFor(sql: SqlSession, sessionId: number): Promise<{ readonly label: string } | 'not-permitted' | 'unknown'> {
  try {
    const { rows: [row] } = await sql.run({ text: labelOf, params: [sessionId] })
    return row === undefined ? 'unknown' : { label: String(row['label']) }
  } catch (error) {
    const errorClass = classifyMysql(error)
    if (errorClass === 'permission') return 'not-permitted'
    if (errorClass === 'missing-table') return 'unknown' // MariaDB before 10.5 has no such table
    throw error
  }
}

/** `sched@%` as GRANT takes it. */
function account(row: SqlRow): string {
  const [, user = '', host = ''] = /^(.*)@([^@]*)$/s.exec(String(row['me'])) ?? []
  return `'${user}'@'${host}'`
}

function withoutPort(host: string): string { return host.replace(/:\d+$/, '') }
