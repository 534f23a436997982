import { SchedError, type LockDiagnostics, type SqlResult, type SqlSession, type Statement } from '@sched/core/spi'
import { classifyOracle } from '../errors/classify.ts'
import { clientIdentifier } from '../session/client-identifier.ts'
import type { DbmsLockConnection } from './dbms-lock-connection.ts'
import { viewGrants } from './lock-holder.ts'

// A killed session stays in the view until its client has heard of it.
const labelled = "s.client_identifier = ? AND s.status <> 'KILLED'"

export const dbmsLockDiagnostics: LockDiagnostics<DbmsLockConnection> = {
  async sessions({ sql, id }, label) {
    const { rows } = await look(sql, { text: `SELECT s.sid || '@' || s.inst_id AS id FROM gv$session s WHERE ${labelled} ORDER BY s.inst_id, s.sid`, params: [clientIdentifier(label)] })
    return rows.map((row) => row['id'] as string).filter((found) => found !== id)
  },

  async locks({ sql }, label) {
    const { rows: [row] } = await look(sql, {
      text: `SELECT COUNT(*) AS held FROM gv$lock l JOIN gv$session s ON s.inst_id = l.inst_id AND s.sid = l.sid WHERE ${labelled} AND l.type = 'UL' AND l.lmode = 6`,
      params: [clientIdentifier(label)],
    })
    return row?.['held'] as number
  },

  /**
   * Needs ALTER SYSTEM. https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/ALTER-SYSTEM.html (KILL SESSION); the serial
   * number belongs to the session's life, so that a successor under the same SID is never meant. None: it is gone, as was asked for.
   */
  async kill({ sql }, id) {
    const [, sid, instance] = /^(\d+)@(\d+)$/.exec(String(id)) ?? []
    if (sid === undefined || instance === undefined) throw new SchedError('SCHED_OPTION_INVALID', `${JSON.stringify(id)} is no session of ours: expected <sid>@<instance>.`)
    const { rows: [row] } = await look(sql, { text: 'SELECT s.serial# AS serial FROM gv$session s WHERE s.sid = ? AND s.inst_id = ?', params: [Number(sid), Number(instance)] })
    if (row === undefined) return
    await sql.run({ text: `ALTER SYSTEM KILL SESSION '${sid},${Number(row['serial'])},@${instance}' IMMEDIATE`, params: [] })
  },
}

/** @throws SchedError SCHED_PERMISSION, with what to grant, where the account may not see the views: ORA-00942, as if they were not there */
async function look(sql: SqlSession, statement: Statement): Promise<SqlResult> {
  try {
    return await sql.run(statement)
  } catch (error) {
    const errorClass = classifyOracle(error)
    if (errorClass !== 'missing-table' && errorClass !== 'permission') throw error
    throw new SchedError('SCHED_PERMISSION', 'this account may not see which sessions there are and what they hold.', { cause: error, details: { errorClass: 'permission' }, remedy: `As an administrator: ${viewGrants}.` })
  }
}
