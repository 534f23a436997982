import type { SessionOptions } from '@sched/core/spi'
import { applicationName } from './application-name.ts'
import { serverKnows, type Setting } from './session-settings.ts'

// Every setting here may be changed by any role. Manual:
// https://www.postgresql.org/docs/current/runtime-config-client.html (statement, lock, idle, isolation),
// https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT,
// https://www.postgresql.org/docs/current/runtime-config-connection.html (TCP, client check)

type Limits = Pick<SessionOptions, 'label' | 'leaseMs' | 'statementMs' | 'rowLockMs'>

/** Sessions of ours alone, whatever the role's or the database's defaults are. */
export function ledgerSettings({ label, leaseMs, statementMs, rowLockMs }: Limits): readonly Setting[] {
  return [
    { name: 'application_name', value: applicationName(label) },
    // Under REPEATABLE READ a losing slot insert is an error (40001) and a line in the server's log.
    { name: 'default_transaction_isolation', value: 'read committed' },
    // A row that was acknowledged must survive a crash (P1). `remote_apply` is more than `on` and stays.
    { name: 'synchronous_commit', value: 'on', when: "pg_catalog.current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')" },
    { name: 'lock_timeout', value: atLeastOne(rowLockMs) },
    { name: 'statement_timeout', value: atLeastOne(statementMs) },
    // A process frozen between two statements of a transaction must not keep its rows, or its lock, for longer than its lease.
    { name: 'idle_in_transaction_session_timeout', value: atLeastOne(leaseMs) },
  ]
}

/** Sessions lent to user code: isolation and limits are the user's. */
export function lentSettings({ label, leaseMs }: Pick<Limits, 'label' | 'leaseMs'>): readonly Setting[] {
  return [
    { name: 'application_name', value: applicationName(label) },
    { name: 'idle_in_transaction_session_timeout', value: atLeastOne(leaseMs) },
  ]
}

/** What a session that holds locks needs besides. */
export function lockSettings(purpose: 'pulse' | 'wait', leaseMs: number): readonly Setting[] {
  return [
    // The lease, enforced by the server: who is silent for longer loses the session and with it every lock. From version 14.
    { name: 'idle_session_timeout', value: atLeastOne(leaseMs), when: serverKnows('idle_session_timeout') },
    // Version 13: at least a vanished host (not a frozen process) is found out, within about a lease.
    ...keepAlives(leaseMs).map((setting) => ({ ...setting, when: `NOT ${serverKnows('idle_session_timeout')}` })),
    ...(purpose === 'wait' ? waitSettings : []),
  ]
}

const waitSettings: readonly Setting[] = [
  // A waiter that was destroyed leaves the queue after this instead of at the end of its wait. From 14; refused on systems whose
  // sockets cannot tell, and Linux is the one that always can.
  { name: 'client_connection_check_interval', value: 1_000, when: `${serverKnows('client_connection_check_interval')} AND pg_catalog.version() LIKE '%linux%'` },
  // From 17: a limit of the server's would end the session in the middle of the wait. The wait has its own limit.
  { name: 'transaction_timeout', value: 0, when: serverKnows('transaction_timeout') },
]

/** In seconds: half the lease of silence, then three probes. */
function keepAlives(leaseMs: number): readonly Setting[] {
  return [
    { name: 'tcp_keepalives_idle', value: atLeastOne(Math.floor(leaseMs / 2_000)) },
    { name: 'tcp_keepalives_interval', value: atLeastOne(Math.floor(leaseMs / 6_000)) },
    { name: 'tcp_keepalives_count', value: 3 },
  ]
}

/** 0 means "no limit" to every one of them, a fraction is cut. */
function atLeastOne(value: number): number { return Math.max(1, Math.ceil(value)) }
