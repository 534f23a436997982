import { SchedError } from '@sched/core/spi'

/** What an administrator runs so that native locks work. */
export const grantStatement = 'GRANT EXECUTE ON SYS.DBMS_LOCK TO <user>'

/** A block with DBMS_LOCK in it did not compile (ORA-06550, PLS-00201): the account may not execute the package. */
export function packageNotGranted(cause: unknown): SchedError {
  return new SchedError('SCHED_PERMISSION', 'this account may not execute the package DBMS_LOCK.', {
    cause, details: { errorClass: 'permission' },
    remedy: `As an administrator: ${grantStatement}; or use the lock table (\`lockTable(oracle(…))\`, URL \`locktable+oracle://…\`), which needs no grant.`,
  })
}
