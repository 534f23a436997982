import type { LockHolder, SqlRow, Statement } from '@sched/core/spi'
import { classifyOracle } from '../errors/classify.ts'
import { nowMs } from '../store/fragments.ts'
import type { DbmsLockConnection } from './dbms-lock-connection.ts'
import { handleBlock, heldBlock, type LockCall } from './lock-blocks.ts'
import { requestStatus, statusError } from './request-status.ts'

export const viewGrants = 'GRANT SELECT ON SYS.GV_$LOCK TO <user>; GRANT SELECT ON SYS.GV_$SESSION TO <user>'

/**
 * The holder's session on any instance. Type UL is a user lock and ID1 its number, LMODE 6 is held in X mode, CTIME the seconds since
 * it was granted. https://docs.oracle.com/en/database/oracle/oracle-database/23/refrn/V-LOCK.html, …/refrn/V-SESSION.html
 */
export function holderStatement(lockId: number): Statement {
  return {
    text: `SELECT s.sid, s.inst_id, s.username, s.machine, s.client_identifier, ${nowMs} - l.ctime * 1000 AS since_at
 FROM gv$lock l LEFT JOIN gv$session s ON s.inst_id = l.inst_id AND s.sid = l.sid WHERE l.type = 'UL' AND l.id1 = ? AND l.lmode = 6 FETCH FIRST 1 ROWS ONLY`,
    params: [lockId],
  }
}

/**
 * The views say who, without touching the lock. Where the account may not see them, the lock itself is asked: that tells whether it is
 * held, and by this session, and no more.
 */
export async function inspectLock(connection: DbmsLockConnection, call: LockCall): Promise<LockHolder | null> {
  const { handle } = await connection.ask(handleBlock(call))
  try {
    const { rows: [row] } = await connection.sql.run(holderStatement(lockIdOf(String(handle), call.lockName)))
    return row === undefined ? null : holderOf(row)
  } catch (error) {
    // A view that may not be seen is ORA-00942 like one that does not exist, or ORA-01031.
    const errorClass = classifyOracle(error)
    if (errorClass !== 'missing-table' && errorClass !== 'permission') throw error
  }
  return askTheLock(connection, call)
}

async function askTheLock(connection: DbmsLockConnection, call: LockCall): Promise<LockHolder | null> {
  const { status } = await connection.ask(heldBlock(call))
  if (status === requestStatus.success) return null
  if (status === requestStatus.own) return { sessionId: connection.id, notPermitted: viewGrants }
  if (status === requestStatus.timeout) return { notPermitted: viewGrants }
  throw statusError('REQUEST', status, call.lockName)
}

/**
 * Numbers given to names are 1073741824 to 1999999999, and a handle begins with that number: not documented, but what lock libraries
 * read (not yet verified live). The documented way, SYS.DBMS_LOCK_ALLOCATED, would need one grant more.
 */
function lockIdOf(handle: string, lockName: string): number {
  const id = Number(handle.slice(0, 10))
  if (Number.isInteger(id) && id >= 1_073_741_824 && id <= 1_999_999_999) return id
  throw statusError('REQUEST', requestStatus.illegalHandle, lockName)
}

function holderOf(row: SqlRow): LockHolder {
  const text = (column: string): string | undefined => (typeof row[column] === 'string' ? row[column] : undefined)
  const host = text('machine')
  const user = text('username')
  const ownerLabel = text('client_identifier')
  return {
    ...(typeof row['sid'] === 'number' ? { sessionId: `${row['sid']}@${String(row['inst_id'])}` } : {}),
    ...(ownerLabel === undefined ? {} : { ownerLabel }),
    ...(host === undefined ? {} : { host }),
    ...(user === undefined ? {} : { user }),
    ...(typeof row['since_at'] === 'number' ? { sinceAt: row['since_at'] } : {}),
  }
}
