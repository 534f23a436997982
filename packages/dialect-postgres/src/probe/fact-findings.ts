import type { Finding } from '@sched/core/spi'
import type { ServerFacts } from './server-facts.ts'

/** The oldest version this package is tested on. */
const oldestVersion = 13

const fewConnections = 20

/** What concerns locks and ledger alike. */
export function commonFindings(facts: ServerFacts, genuine: boolean, poolLimit: number | undefined): Finding[] {
  return [
    ...(genuine ? versionFindings(facts) : []),
    ...readOnlyFindings(facts),
    ...poolFindings(poolLimit),
    ...(facts.connections !== null && facts.connections < fewConnections
      ? [warn('SCHED_UNSAFE_LIMIT', `this role may have ${facts.connections} connections here in all.`,
        'A node needs two, one per open ctx.transaction and one per waiting acquire (four at most): raise max_connections, or the limit of the role or the database.')] : []),
  ]
}

function versionFindings({ versionNumber }: ServerFacts): Finding[] {
  const major = Math.floor((versionNumber ?? 0) / 10_000)
  if (major >= oldestVersion) return []
  return [{ level: 'refuse', code: 'SCHED_UNSUPPORTED_VERSION', message: `this is PostgreSQL ${major}.`, remedy: `Use PostgreSQL ${oldestVersion} or later.` }]
}

/** A standby has a lock space of its own, so its locks exclude nobody on the primary; and nothing can be written on either. */
function readOnlyFindings({ standby, readOnly }: ServerFacts): Finding[] {
  if (standby) {
    return [{ level: 'refuse', code: 'SCHED_UNSAFE_READ_ONLY', message: 'the server is a standby (pg_is_in_recovery): its locks exclude nobody on the primary, and it takes no writes.', remedy: 'Connect to the primary.' }]
  }
  if (!readOnly) return []
  return [{ level: 'refuse', code: 'SCHED_UNSAFE_READ_ONLY', message: 'transactions are read-only here (default_transaction_read_only).', remedy: 'Connect to the primary, or ALTER ROLE … SET default_transaction_read_only = off.' }]
}

/** Nothing works with a single one. Whether there are enough is for the core to say, which knows how many it may take. */
function poolFindings(limit: number | undefined): Finding[] {
  if (limit === undefined || limit >= 2) return []
  return [{
    level: 'refuse', code: 'SCHED_UNSAFE_LIMIT', message: 'the pool lends a single connection, to the application and to @sched together.',
    remedy: 'Give it 2 + concurrency, and one per waiting acquire, on top of what the application needs; or give @sched a URL.',
  }]
}

/** What concerns the ledger. */
export function storeFindings(facts: ServerFacts): Finding[] {
  const findings: Finding[] = []
  const lossy = [['fsync', facts.fsync], ['full_page_writes', facts.fullPageWrites]].filter(([, value]) => value === 'off').map(([name]) => name)
  if (lossy.length > 0) {
    findings.push(warn('SCHED_UNSAFE_ENGINE', `the server runs with ${lossy.join(' and ')} off: a crash may lose committed rows, and a fire time may start twice.`, 'Turn it on wherever the data matters.'))
  }
  if (facts.synchronousCommit === 'off') {
    findings.push(warn('SCHED_UNSAFE_ENGINE', 'synchronous_commit is off: a crash may lose what ctx.transaction committed, together with its success. Our own sessions set it on.', 'SET LOCAL synchronous_commit = on in such transactions, or turn it on for the role.'))
  }
  if (facts.idleSessionTimeout !== null && facts.idleSessionTimeout !== '0') {
    findings.push(warn('SCHED_UNSAFE_LIMIT', `idle_session_timeout is ${facts.idleSessionTimeout}: the server ends our idle store session after that, and it is opened again.`, 'ALTER ROLE … SET idle_session_timeout = 0 saves the reconnects.'))
  }
  if (facts.schema === null) {
    findings.push(warn('SCHED_SCHEMA_MISSING', 'no schema of the search_path exists, so tables cannot be created without naming one.', 'Create the schema, or name one in the options.'))
  }
  if (facts.encoding !== null && facts.encoding !== 'UTF8') {
    findings.push(warn('SCHED_UNSAFE_LIMIT', `the database's encoding is ${facts.encoding}: task names with characters outside it are refused.`, 'Use a database in UTF8.'))
  }
  return findings
}

/** What concerns advisory locks. */
export function lockFindings({ idleSessionTimeout, versionNumber }: ServerFacts): Finding[] {
  if (idleSessionTimeout !== null) return []
  return [warn('SCHED_CAPABILITY_MISSING', `PostgreSQL ${Math.floor((versionNumber ?? 0) / 10_000)} has no idle_session_timeout: a frozen process keeps its locks until it wakes or is ended.`, 'Use PostgreSQL 14 or later, or the lock table.')]
}

function warn(code: Finding['code'], message: string, remedy: string): Finding { return { level: 'warn', code, message, remedy } }
