import type { LockDiagnostics } from '@sched/core/spi'
import { contextInfo, programName } from '../session/session-label.ts'
import { serverNumbers } from '../errors/classify.ts'
import type { ApplockConnection } from './applock-connection.ts'
import { grantedApplocks } from './applock-statements.ts'

// https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-sessions-transact-sql: without VIEW
// SERVER STATE a login sees its own session only. By program name, or by context_info where a pool had logged in under another.
const labelled = '(s.program_name = ? OR s.context_info = CONVERT(varbinary(128), ?, 2)) AND s.database_id = DB_ID()'
const labelValues = (label: string): readonly string[] => [programName(label), contextInfo(label)]

export const applockDiagnostics: LockDiagnostics<ApplockConnection> = {
  async sessions({ sql }, label) {
    const { rows } = await sql.run({ text: `SELECT s.session_id FROM sys.dm_exec_sessions s WHERE ${labelled} AND s.session_id <> @@SPID ORDER BY s.session_id`, params: labelValues(label) })
    return rows.map((row) => row['session_id'] as number)
  },

  async locks({ sql }, label) {
    const { rows: [row] } = await sql.run({ text: `SELECT COUNT(*) AS held ${grantedApplocks} AND ${labelled}`, params: labelValues(label) })
    return row?.['held'] as number
  },

  /** https://learn.microsoft.com/sql/t-sql/language-elements/kill-transact-sql: takes no parameter. 6106: there is no such session (any more), which is what was asked for. */
  async kill({ session, limitMs }, id) {
    try {
      await session.batch(`KILL ${Math.trunc(Number(id))}`, limitMs)
    } catch (error) {
      if (!serverNumbers(error).includes(6106)) throw error
    }
  },
}
