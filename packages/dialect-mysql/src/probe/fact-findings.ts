import type { Engine, Finding } from '@sched/core/spi'
import { proxyRemedy } from '../locks/get-lock-connection.ts'
import type { ServerFacts } from './server-facts.ts'

const fewConnections = 20

const replicaRemedy = 'Connect to the primary.'
const lockTableRemedy = 'Use the lock table (`lockTable(mysql(…))`, URL `locktable+mysql://…` or `locktable+mariadb://…`).'

/** What concerns locks and ledger alike. */
export function commonFindings(facts: ServerFacts, engine: Engine, poolLimit: number | undefined): Finding[] {
  return [
    ...(engine.genuine ? versionFindings(engine) : []),
    ...readOnlyFindings(facts),
    ...poolFindings(poolLimit),
    ...connectionFindings(facts),
  ]
}

/**
 * Older ones release a lock when another is taken: MySQL before 5.7.5 (https://dev.mysql.com/doc/refman/5.7/en/locking-functions.html),
 * MariaDB before 10.0.2 (https://mariadb.com/docs/server/reference/sql-functions/secondary-functions/miscellaneous-functions/get_lock).
 */
function versionFindings({ product, version }: Engine): Finding[] {
  const [required, tested] = product === 'MariaDB' ? ['10.0.2', '10.5.0'] as const : ['5.7.5', '8.0.0'] as const
  if (isOlder(version, required)) {
    return [{ level: 'refuse', code: 'SCHED_UNSUPPORTED_VERSION', message: `this is ${product} ${version}: a session there holds one lock, and a second one frees it.`, remedy: `Use ${product} ${required} or later.` }]
  }
  if (!isOlder(version, tested)) return []
  return [warn('SCHED_UNSUPPORTED_VERSION', `this is ${product} ${version}, older than any version the tests know.`, 'Run `sched-selftest` against it before you rely on it.')]
}

function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number))
  for (let index = 0; index < 3; index++) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}

/** MariaDB grants locks on a read-only server as on any other; they exclude nobody on the primary. */
function readOnlyFindings({ settings, replica }: ServerFacts): Finding[] {
  const on = ['super_read_only', 'read_only', 'innodb_read_only', 'transaction_read_only', 'tx_read_only'].find((name) => !['OFF', '0', undefined].includes(settings.get(name)))
  if (on !== undefined) {
    return [{ level: 'refuse', code: 'SCHED_UNSAFE_READ_ONLY', message: `the server is read-only (${on}): its locks exclude nobody on the primary, and it takes no writes.`, remedy: replicaRemedy }]
  }
  if (replica !== true) return []
  return [{ level: 'refuse', code: 'SCHED_UNSAFE_READ_ONLY', message: 'the server is a replica of another: its locks exclude nobody there, and what is written here does not get there.', remedy: replicaRemedy }]
}

/** Nothing works with a single one. Whether there are enough is for the core to say, which knows how many it may take. */
function poolFindings(limit: number | undefined): Finding[] {
  if (limit === undefined || limit >= 2) return []
  return [{
    level: 'refuse', code: 'SCHED_UNSAFE_LIMIT', message: 'the pool lends a single connection, to the application and to @sched together.',
    remedy: 'Give it 2 + concurrency, and one per waiting acquire, on top of what the application needs; or give @sched a URL.',
  }]
}

/** max_user_connections is the account's own limit where it has one: https://dev.mysql.com/doc/refman/9.7/en/server-system-variables.html#sysvar_max_user_connections */
function connectionFindings({ settings }: ServerFacts): Finding[] {
  const limits = ['max_connections', 'max_user_connections'].map((name) => Number(settings.get(name) ?? 0)).filter((limit) => limit > 0)
  const limit = Math.min(...limits, Infinity)
  if (limit >= fewConnections) return []
  return [warn('SCHED_UNSAFE_LIMIT', `this account may have ${limit} connections here in all.`,
    'A node needs two, one per open ctx.transaction and one per waiting acquire (four at most): raise max_connections, or max_user_connections.')]
}

/** What concerns user-level locks. */
export function lockFindings(facts: ServerFacts): Finding[] {
  const refuse = (code: Finding['code'], message: string, remedy: string): Finding => ({ level: 'refuse', code, message, remedy })
  return [
    ...(facts.galera ? [refuse('SCHED_UNSAFE_CLUSTER', 'this is a node of a Galera cluster (wsrep_on): GET_LOCK is granted on every node at the same time.', lockTableRemedy)] : []),
    ...(facts.groupMembers > 0 ? [refuse('SCHED_UNSAFE_CLUSTER', 'this is a member of a replication group: its certification knows nothing of GET_LOCK, and a new primary has none of the locks.', lockTableRemedy)] : []),
    ...(facts.proxied ? [refuse('SCHED_UNSAFE_POOLER', 'a proxy answers in the place of the server (the session has one id in the handshake and another on the server), and may give a client several sessions, or several clients one.', proxyRemedy)] : []),
  ]
}

/** What concerns the ledger. */
export function storeFindings(facts: ServerFacts): Finding[] {
  const { settings, database, galera, groupMembers, proxied } = facts
  const findings: Finding[] = []
  const flush = settings.get('innodb_flush_log_at_trx_commit')
  if (flush !== undefined && flush !== '1') {
    // https://dev.mysql.com/doc/refman/9.7/en/innodb-parameters.html#sysvar_innodb_flush_log_at_trx_commit: a global setting, ours cannot differ
    findings.push(warn('SCHED_UNSAFE_ENGINE', `innodb_flush_log_at_trx_commit is ${flush}: a crash may lose committed rows, and a fire time may start twice.`, 'Set it to 1 wherever the data matters.'))
  }
  if (database === '') findings.push(warn('SCHED_SCHEMA_MISSING', 'no database is selected, so tables cannot be created without naming one.', 'Name it in the URL or the config, or as the schema in the options.'))
  if (galera || groupMembers > 1) {
    findings.push(warn('SCHED_UNSAFE_CLUSTER', 'this is a node of a cluster, whose clocks are several: leases are judged by the clock of the node that is asked.', 'Keep the clocks together (NTP), the lease at 10 s or more, and send all instances to one node where you can.'))
  }
  if (proxied) {
    findings.push(warn('SCHED_UNSAFE_POOLER', 'a proxy answers in the place of the server: our sessions get the server\'s isolation and limits, not their own.', 'Connect to the server itself, or set READ COMMITTED and a short innodb_lock_wait_timeout there.'))
  }
  return findings
}

function warn(code: Finding['code'], message: string, remedy: string): Finding { return { level: 'warn', code, message, remedy } }
