import type { SessionOptions, SqlValue } from '@sched/core/spi'
import type { ServerIdentity } from './server-identity.ts'

/** A session variable; user variables begin with `@`. */
export interface Setting { readonly name: string; readonly value: SqlValue }

type Limits = Pick<SessionOptions, 'label' | 'leaseMs'> & {
  /** Undefined: statements may take as long as they take (a wait for a lock has its own limit). */
  readonly statementMs: number | undefined
  readonly rowLockMs: number
}

/** How long the server lets a session that keeps no lock and no transaction be idle: a day, less a second, so that no schedule ends with it. */
export const idleSeconds = 86_399

// System variables: https://dev.mysql.com/doc/refman/9.7/en/server-system-variables.html,
// https://dev.mysql.com/doc/refman/9.7/en/innodb-parameters.html,
// https://mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables

/** Sessions of ours alone, whatever the server's and the pool's defaults are. */
export function ledgerSettings({ settings, galera }: ServerIdentity, { label, leaseMs, statementMs, rowLockMs }: Limits): readonly Setting[] {
  return [
    labelSetting(label),
    { name: 'autocommit', value: 1 },
    // No padding, no ANSI quotes, no silent truncation. https://dev.mysql.com/doc/refman/9.7/en/sql-mode.html
    { name: 'sql_mode', value: 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION' },
    { name: 'time_zone', value: '+00:00' }, // no statement of ours depends on it; what people read beside us should not either
    // Whole seconds, at least one: the server knows nothing shorter. The second one is for DDL.
    { name: 'innodb_lock_wait_timeout', value: wholeSeconds(rowLockMs) },
    { name: 'lock_wait_timeout', value: wholeSeconds(statementMs ?? leaseMs) },
    ...statementLimit(settings, statementMs),
    // A node of a cluster waits until it has what the others have committed: 1 reads, 2 updates and deletes, 4 inserts.
    // https://mariadb.com/docs/galera-cluster/reference/galera-cluster-system-variables#wsrep_sync_wait
    ...(galera ? [{ name: 'wsrep_sync_wait', value: 7 }] : []),
  ]
}

/** MySQL's limit is for SELECT alone (https://dev.mysql.com/doc/refman/9.7/en/server-system-variables.html#sysvar_max_execution_time), in ms; MariaDB's for everything, in seconds with fractions. */
function statementLimit(settings: ServerIdentity['settings'], statementMs: number | undefined): readonly Setting[] {
  const ms = statementMs === undefined ? 0 : Math.max(1, Math.ceil(statementMs))
  if (settings.has('max_statement_time')) return [{ name: 'max_statement_time', value: ms / 1_000 }]
  return settings.has('max_execution_time') ? [{ name: 'max_execution_time', value: ms }] : []
}

/** Sessions lent to user code: isolation and limits are the user's. */
export function lentSettings(label: string, leaseMs: number): readonly Setting[] {
  return [labelSetting(label), { name: 'wait_timeout', value: wholeSeconds(leaseMs) }]
}

/**
 * How long a session may be idle, in a transaction or not: what a process that froze between two statements leaves locked ends with
 * its session. MySQL has one limit for both, so that a session which must outlive idle hours changes it around each transaction.
 */
export interface IdleLimits {
  readonly settings: readonly Setting[]
  /** In seconds; set when a transaction begins and when it has ended. Undefined: nothing to change. */
  readonly around: { readonly inside: number; readonly outside: number } | undefined
}

/** Heartbeats keep this session from ever being idle for a lease. */
export function idleLimitOfPulse(leaseMs: number): IdleLimits {
  return { settings: [{ name: 'wait_timeout', value: wholeSeconds(leaseMs) }], around: undefined }
}

/** https://mariadb.com/docs/server/server-management/variables-and-modes/server-system-variables#idle_transaction_timeout (10.3 and later) */
export function idleLimitOfStore({ settings }: ServerIdentity, leaseMs: number): IdleLimits {
  const inside = wholeSeconds(leaseMs)
  const outside = { name: 'wait_timeout', value: idleSeconds }
  if (settings.has('idle_transaction_timeout')) return { settings: [outside, { name: 'idle_transaction_timeout', value: inside }], around: undefined }
  return { settings: [outside], around: { inside, outside: idleSeconds } }
}

/** Rounded up: a lock must not be free before its holder has given it up, and that is at most a lease after it was last sent for. */
export function wholeSeconds(ms: number): number { return Math.max(1, Math.ceil(ms / 1_000)) }

/**
 * There is no application name; a user variable shows to whoever may read performance_schema, and a COM_RESET_CONNECTION takes it
 * away together with the locks. https://dev.mysql.com/doc/refman/9.7/en/performance-schema-user-variable-tables.html
 */
function labelSetting(label: string): Setting { return { name: '@sched_label', value: label } }
