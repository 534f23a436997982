import type { Finding } from '@sched/core/spi'
import type { Engine } from './engine.ts'
import type { ServerFacts } from './server-facts.ts'

const lockTable = 'Use the lock table (`lockTable(sqlserver(…))`, URL `locktable+sqlserver://…`).'
const notTried = 'Run `sched-selftest` against it before you rely on it.'

/** What concerns locks and ledger alike. */
export function commonFindings(facts: ServerFacts, poolLimit: number | undefined): Finding[] {
  return [
    // A replica has a lock space of its own, so its locks exclude nobody on the primary; and nothing can be written there.
    ...(facts.readOnly ? [refuse('SCHED_UNSAFE_READ_ONLY', `the database ${facts.database} is read-only here (a readable secondary, or READ_ONLY): its locks exclude nobody on the primary.`, 'Connect to the primary: the listener of the availability group, without ApplicationIntent=ReadOnly.')] : []),
    // Nothing works with a single one. Whether there are enough is for the core to say, which knows how many it may take.
    ...(poolLimit === undefined || poolLimit >= 2 ? [] : [refuse('SCHED_UNSAFE_LIMIT', 'the pool lends a single connection, to the application and to @sched together.',
      'Give it 2 + concurrency, and one per waiting acquire, on top of what the application needs; or give @sched a URL.')]),
  ]
}

/** What concerns the ledger. */
export function storeFindings(engine: Engine, facts: ServerFacts): Finding[] {
  return [
    ...(engine.kind === 'peer' ? [warn('SCHED_UNSAFE_ENGINE', `this is ${engine.product} ${engine.version}, not SQL Server: its row locks and hints are others, and the ledger has not been tried on it.`, notTried)] : []),
    // https://learn.microsoft.com/sql/relational-databases/logs/control-transaction-durability
    ...(facts.delayedDurability === 'FORCED' ? [warn('SCHED_UNSAFE_ENGINE', `DELAYED_DURABILITY is FORCED in ${facts.database}: a crash may lose committed rows, and a fire time may start twice.`, 'ALTER DATABASE … SET DELAYED_DURABILITY = ALLOWED or DISABLED.')] : []),
    // https://learn.microsoft.com/sql/database-engine/availability-groups/windows/availability-modes-always-on-availability-groups
    ...(facts.availabilityMode === 'ASYNCHRONOUS_COMMIT' ? [warn('SCHED_UNSAFE_ENGINE', 'this replica of the availability group commits asynchronously: a forced failover may lose committed rows, and a fire time may start twice.', 'Use SYNCHRONOUS_COMMIT between the replicas that fail over to each other.')] : []),
  ]
}

/** What concerns application locks. `wrong`: what a closer look found. */
export function lockFindings(engine: Engine, facts: ServerFacts, wrong: string | undefined): Finding[] {
  return [
    ...(engine.kind !== 'peer' ? [] : [peerFinding(engine, wrong)]),
    ...(facts.locksVisible ? [] : [warn('SCHED_CAPABILITY_MISSING', 'this login cannot read sys.dm_tran_locks, or the server has none: nobody is told who holds a lock.', 'GRANT VIEW SERVER STATE (from 2022: VIEW SERVER PERFORMANCE STATE; Azure SQL Database: VIEW DATABASE STATE).')]),
    ...(facts.availabilityMode === null ? [] : [warn('SCHED_CAPABILITY_MISSING', 'the database is in an availability group: a failover ends every session and frees its locks at once, while their holders still run.', 'Holders learn of it by their lost session. Where that is not enough use the lock table, whose rows are replicated.')]),
  ]
}

function peerFinding({ product, version }: Engine, wrong: string | undefined): Finding {
  const what = `this is ${product} ${version}, not SQL Server:`
  if (wrong !== undefined) return refuse('SCHED_UNSAFE_ENGINE', `${what} ${wrong}.`, lockTable)
  return warn('SCHED_UNSAFE_ENGINE', `${what} its application locks answered as documented when they were tried just now, which is all that is known of them.`, `${notTried} ${lockTable}`)
}

function warn(code: Finding['code'], message: string, remedy: string): Finding { return { level: 'warn', code, message, remedy } }

function refuse(code: Finding['code'], message: string, remedy: string): Finding { return { level: 'refuse', code, message, remedy } }
