import type { LockDiagnostics } from '@sched/core/spi'
import { applicationName } from '../session/application-name.ts'
import type { AdvisoryConnection } from './advisory-connection.ts'

// https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ACTIVITY-VIEW: pid and application_name are
// shown to every role.
const labelled = 'a.application_name = ? AND a.datname = pg_catalog.current_database()'

export const advisoryDiagnostics: LockDiagnostics<AdvisoryConnection> = {
  async sessions({ sql }, label) {
    const { rows } = await sql.run({
      text: `SELECT a.pid FROM pg_catalog.pg_stat_activity a WHERE ${labelled} AND a.pid <> pg_catalog.pg_backend_pid() ORDER BY a.pid`,
      params: [applicationName(label)],
    })
    return rows.map((row) => row['pid'] as number)
  },

  async locks({ sql }, label) {
    const { rows: [row] } = await sql.run({
      text: `SELECT count(*) AS held FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
 WHERE ${labelled} AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted`,
      params: [applicationName(label)],
    })
    return row?.['held'] as number
  },

  /**
   * https://www.postgresql.org/docs/current/functions-admin.html#FUNCTIONS-ADMIN-SIGNAL: false when there is no such session (any
   * more), which is what was asked for; 42501 when it belongs to a role whose sessions ours may not end.
   */
  async kill({ sql }, id) {
    await sql.run({ text: 'SELECT pg_catalog.pg_terminate_backend(?::int) AS signalled', params: [Number(id)] })
  },
}
