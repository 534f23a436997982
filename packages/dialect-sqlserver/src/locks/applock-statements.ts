import type { Statement } from '@sched/core/spi'
import type { ProcedureValue } from '../session/physical-session.ts'

/**
 * The lock belongs to a resource name in a database, for a principal. `public` is the default, and every user is a member.
 * Owner Session on both procedures: the default is Transaction, which ends with a transaction of the core's on the same session.
 */
const owner = { LockOwner: 'Session', DbPrincipal: 'public' }

/** https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql */
export const getApplock = 'sp_getapplock'

/** `waitMs` 0 answers at once. It is always given: without it @@LOCK_TIMEOUT counts, and -1 waits for ever. */
export function getApplockValues(resource: string, waitMs: number): Readonly<Record<string, ProcedureValue>> {
  return { Resource: resource, LockMode: 'Exclusive', ...owner, LockTimeout: Math.min(Math.ceil(waitMs), 2_147_483_647) }
}

/** https://learn.microsoft.com/sql/relational-databases/system-stored-procedures/sp-releaseapplock-transact-sql */
export const releaseApplock = 'sp_releaseapplock'

export function releaseApplockValues(resource: string): Readonly<Record<string, ProcedureValue>> {
  return { Resource: resource, ...owner }
}

/**
 * `mode`: 'Exclusive' when this session holds it, 'NoLock' otherwise; `free`: 1 when it would be granted, which it is to its holder too.
 * https://learn.microsoft.com/sql/t-sql/functions/applock-mode-transact-sql,
 * https://learn.microsoft.com/sql/t-sql/functions/applock-test-transact-sql
 */
export function modeStatement(resource: string): Statement {
  return { text: "SELECT APPLOCK_MODE('public', ?, 'Session') AS mode, APPLOCK_TEST('public', ?, 'Exclusive', 'Session') AS free", params: [resource, resource] }
}

/** APPLICATION rows of this database that are granted. Which session has the lock is told, since when is not. */
export const grantedApplocks = `FROM sys.dm_tran_locks l LEFT JOIN sys.dm_exec_sessions s ON s.session_id = l.request_session_id
 WHERE l.resource_type = 'APPLICATION' AND l.request_status = 'GRANT' AND l.resource_database_id = DB_ID()`

/**
 * The sessions that hold what looks like this resource. Needs VIEW SERVER STATE.
 * https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-tran-locks-transact-sql#permissions
 */
export function holderStatement(visible: string): Statement {
  return {
    text: `SELECT l.request_session_id AS session_id, l.resource_description AS description, s.host_name, s.login_name, s.program_name ${grantedApplocks} AND CHARINDEX(?, l.resource_description) > 0`,
    params: [visible],
  }
}
