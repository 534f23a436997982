import { encodeLockName, type LockName } from '@sched/core/spi'

/**
 * A name as GET_LOCK takes it. MySQL: at most 64 characters, and case does not count; MariaDB: at most 192 bytes, and it does. The
 * encoded form is ASCII in lower case, so that neither matters.
 * https://dev.mysql.com/doc/refman/9.7/en/locking-functions.html#function_get-lock, https://mariadb.com/docs/server/reference/sql-functions/secondary-functions/miscellaneous-functions/get_lock
 */
export function encodedName(name: LockName): string { return encodeLockName(name, 64) }
