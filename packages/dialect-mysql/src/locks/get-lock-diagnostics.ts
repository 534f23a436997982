import { SchedError, type LockDiagnostics, type SqlSession } from '@sched/core/spi'
import { errorNumber } from '../errors/classify.ts'
import type { GetLockConnection } from './get-lock-connection.ts'

// Sessions say what they are in a user variable: https://dev.mysql.com/doc/refman/9.7/en/performance-schema-user-variable-tables.html
const labelled = `FROM performance_schema.user_variables_by_thread v JOIN performance_schema.threads t ON t.THREAD_ID = v.THREAD_ID
 WHERE v.VARIABLE_NAME = 'sched_label' AND CAST(v.VARIABLE_VALUE AS CHAR) = ?`

/** ER_NO_SUCH_THREAD */
const noSuchSession = 1094

export const getLockDiagnostics: LockDiagnostics<GetLockConnection> = {
  async sessions({ sql }, label) {
    await requirePerformanceSchema(sql)
    const { rows } = await sql.run({ text: `SELECT t.PROCESSLIST_ID AS id ${labelled} AND t.PROCESSLIST_ID <> CONNECTION_ID() ORDER BY id`, params: [label] })
    return rows.map((row) => row['id'] as number)
  },

  /**
   * https://dev.mysql.com/doc/refman/9.7/en/performance-schema-metadata-locks-table.html. MariaDB's instrument for it is off by
   * default: https://mariadb.com/docs/server/reference/system-tables/performance-schema/performance-schema-tables/performance-schema-metadata_locks-table
   */
  async locks({ sql }, label) {
    await requirePerformanceSchema(sql)
    const { rows: [row] } = await sql.run({
      text: `SELECT COUNT(*) AS held FROM performance_schema.metadata_locks l WHERE l.OBJECT_TYPE = 'USER LEVEL LOCK' AND l.LOCK_STATUS = 'GRANTED'
 AND l.OWNER_THREAD_ID IN (SELECT t.THREAD_ID ${labelled})`,
      params: [label],
    })
    return row?.['held'] as number
  },

  /** https://dev.mysql.com/doc/refman/9.7/en/kill.html: 1094 when there is no such session (any more), which is what was asked for; 1095 when it belongs to an account whose sessions ours may not end. */
  async kill({ sql }, id) {
    try {
      await sql.run({ text: 'KILL CONNECTION ?', params: [Number(id)] })
    } catch (error) {
      if (errorNumber(error) !== noSuchSession) throw error
    }
  },
}

/** Empty tables would look like sessions without locks. */
async function requirePerformanceSchema(sql: SqlSession): Promise<void> {
  const { rows: [row] } = await sql.run({
    text: `SELECT @@performance_schema AS is_on, (SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE NAME = 'wait/lock/metadata/sql/mdl' AND ENABLED = 'YES') AS locks`, params: [],
  })
  if (row?.['is_on'] === 1 && row['locks'] === 1) return
  throw new SchedError('SCHED_CAPABILITY_MISSING', 'the server does not record sessions and their locks (performance_schema).', {
    remedy: "Start it with performance_schema=ON and performance-schema-instrument='wait/lock/metadata/sql/mdl=ON'.", details: { errorClass: 'unsupported' },
  })
}
