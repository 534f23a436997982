import type { Finding } from '@sched/core/spi'
import type { ServerFacts } from './server-facts.ts'

// FETCH FIRST came with 12.1, and the thin driver talks to nothing older.
const oldestMajor = 12

// One node: heartbeat, store, four waiting acquires, and one per open ctx.transaction.
const fewestSessions = 6

/** What concerns locks and ledger alike. */
export function commonFindings(facts: ServerFacts, poolLimit: number | undefined): Finding[] {
  return [...versionFindings(facts), ...readOnlyFindings(facts), ...placeFindings(facts), ...limitFindings(facts), ...poolFindings(poolLimit)]
}

function versionFindings({ version }: ServerFacts): Finding[] {
  const major = Number(/^\d+/.exec(version)?.[0] ?? NaN)
  if (!(major < oldestMajor)) return []
  return [{ level: 'refuse', code: 'SCHED_UNSUPPORTED_VERSION', message: `this is Oracle Database ${version}.`, remedy: `Use Oracle Database ${oldestMajor}.1 or later.` }]
}

/** A standby takes no writes, so DBMS_LOCK cannot allocate a name there either; its locks would exclude nobody on the primary. */
function readOnlyFindings({ role, openMode }: ServerFacts): Finding[] {
  if (/STANDBY/.test(role) && role !== 'SNAPSHOT STANDBY') {
    return [{ level: 'refuse', code: 'SCHED_UNSAFE_READ_ONLY', message: `the database is a ${role}: it takes no writes, and its locks exclude nobody on the primary.`, remedy: 'Connect to the primary, by a service that follows the role.' }]
  }
  if (openMode === undefined || !openMode.startsWith('READ ONLY')) return []
  return [{ level: 'refuse', code: 'SCHED_UNSAFE_READ_ONLY', message: `the database is open ${openMode}.`, remedy: 'Connect to the primary, or open it READ WRITE.' }]
}

function placeFindings({ root, cluster, autonomous }: ServerFacts): Finding[] {
  return [
    ...(root ? [warn('SCHED_UNSAFE_ENGINE', 'this is the root of a container database (CDB$ROOT).', 'Connect to the service of a pluggable database: tables and lock names belong to one container.')] : []),
    ...(cluster ? [warn('SCHED_UNSAFE_CLUSTER', 'this is a cluster (RAC): locks and rows are shared by its instances, but each tells the time of its own host, which we allow to differ by 500 ms. Not yet verified on a live cluster.', 'Keep the hosts synchronised, or use a service that runs on one instance.')] : []),
    ...(autonomous ? [warn('SCHED_UNSAFE_ENGINE', 'this is an Autonomous Database, on which nothing here has been tried.', 'Run `sched-selftest` against it before you rely on it.')] : []),
  ]
}

function limitFindings({ sessionsPerUser, connectMinutes }: ServerFacts): Finding[] {
  return [
    ...(sessionsPerUser !== undefined && sessionsPerUser < fewestSessions ? [warn('SCHED_UNSAFE_LIMIT', `the profile of this user allows ${sessionsPerUser} sessions in all (SESSIONS_PER_USER).`,
      'A node needs two, one per open ctx.transaction and one per waiting acquire (four at most).')] : []),
    ...(connectMinutes === undefined ? [] : [warn('SCHED_UNSAFE_LIMIT', `the profile of this user ends every session after ${connectMinutes} minutes (CONNECT_TIME), whatever it holds.`,
      'ALTER PROFILE … LIMIT CONNECT_TIME UNLIMITED, or locks are lost at that age.')]),
  ]
}

/** Nothing works with a single one. Whether there are enough is for the core to say, which knows how many it may take. */
function poolFindings(limit: number | undefined): Finding[] {
  if (limit === undefined || limit >= 2) return []
  return [{
    level: 'refuse', code: 'SCHED_UNSAFE_LIMIT', message: 'the pool lends a single connection, to the application and to @sched together.',
    remedy: 'Give it 2 + concurrency, and one per waiting acquire, on top of what the application needs (poolMax); or give @sched a URL.',
  }]
}

/** What concerns the ledger. */
export function storeFindings({ characterSet, idleMinutes }: ServerFacts): Finding[] {
  return [
    ...(characterSet === undefined || characterSet === 'AL32UTF8' || characterSet === 'UTF8' ? [] : [warn('SCHED_UNSAFE_LIMIT',
      `the character set is ${characterSet}: what it cannot write is replaced, so that two task names may become one.`, 'Keep task names within it, or use a database in AL32UTF8.')]),
    ...(idleMinutes === undefined ? [] : [warn('SCHED_UNSAFE_LIMIT', `the profile of this user ends sessions that are idle for ${idleMinutes} minutes (IDLE_TIME): our store session is opened again then.`,
      'ALTER PROFILE … LIMIT IDLE_TIME UNLIMITED saves the reconnects.')]),
  ]
}

function warn(code: Finding['code'], message: string, remedy: string): Finding { return { level: 'warn', code, message, remedy } }
