import { resolveDialect } from '../dialect/resolve.ts'
import { SchedError } from '../errors.ts'
import { tableNames } from '../ledger/tables.ts'
import type { GuardedSession } from '../session/guarded-session.ts'
import type { LockCapabilities } from '../spi/capabilities.ts'
import type { Dialect } from '../spi/dialect.ts'
import type { LockConnection, LockSource, OpenOptions } from '../spi/lock-source.ts'
import type { LockProbe } from '../spi/probe.ts'
import type { StoreDialect, Tables } from '../spi/store-dialect.ts'
import { defaultNamespace } from './default-namespace.ts'
import { createFence } from './fencing-row.ts'
import type { Fence } from './lock-attempt.ts'
import type { LockEvent } from './lock-events.ts'
import { ensureLockTable } from './lock-table.ts'
import { checkHeartbeat, type CheckedLocksOptions } from './locks-options.ts'
import { sessionLabel } from '../session/owner-label.ts'
import { poolFindings, type ConnectionNeed } from '../session/pool-finding.ts'
import { openGuarded, reachDatabase, type ReachOptions } from '../session/reach-database.ts'

/** What is known once the database has been looked at. */
export interface LockSetUp {
  readonly dialect: Dialect
  readonly source: LockSource
  readonly capabilities: LockCapabilities
  readonly namespace: string
  readonly maxLocks: number
  readonly fence: Fence | undefined
  /** Opens a lock connection of its own. @throws SchedError */
  open(purpose: 'pulse' | 'wait', limits?: { deadlineMs?: number; signal?: AbortSignal | undefined }): Promise<GuardedSession<LockConnection>>
  /** Looks again whether the set-up is safe, e.g. after a failover. @throws SchedError */
  check(): Promise<void>
}

/** The options and what the set-up shares with whoever made it. */
export interface SetUpContext {
  readonly options: CheckedLocksOptions
  /** Aborts when the locks begin to close. */
  readonly stopped: AbortSignal
  /** Aborts when everything has been given back: until then leases in rows may need another connection. */
  readonly ended: AbortSignal
  readonly emit: (event: LockEvent) => void
}

/**
 * The first use of a database: finds the dialect, probes, refuses what is unsafe (P11), derives the namespace, makes the lock table.
 * @throws SchedError
 */
export async function setUpLocks(dialect: Dialect, context: SetUpContext): Promise<LockSetUp> {
  const { options, stopped, emit } = context
  const { clock, random, openMs, leaseMs, heartbeatMs, url } = options
  const source = dialect.locks
  const tables = tablesOf(dialect, options)
  const reach: ReachOptions = { clock, random, deadlineMs: openMs, classify: (error) => source.classify(error), url, signal: stopped }
  const known: Omit<OpenOptions, 'signal' | 'label'> = { leaseMs, ...(tables === undefined ? {} : { tables }) }

  const needs = ({ serverSideWait }: LockCapabilities): ConnectionNeed[] => [
    { count: 1, what: 'heartbeat and attempts' }, ...(serverSideWait && options.maxWaiting > 0 ? [{ count: options.maxWaiting, what: 'maxWaiting, acquires that wait in the server' }] : []),
  ]
  const warned = new Set<string>()
  const probe = async (label: string): Promise<LockProbe> => {
    const found = await reachDatabase('looking at the database', (signal) => source.probe({ ...known, label, signal }), reach)
    for (const finding of [...found.findings, ...poolFindings(found.poolLimit, needs(found.capabilities))]) {
      if (finding.level === 'refuse') throw new SchedError(finding.code, finding.message, { remedy: finding.remedy, details: { product: found.product, version: found.version } })
      const key = `${finding.code} ${finding.message}`
      if (!warned.has(key)) emit({ kind: 'lock.warning', finding })
      warned.add(key)
    }
    return found
  }

  const found = await probe(sessionLabel(options.namespace ?? 'probe'))
  const { capabilities, sharedSessions } = found
  checkHeartbeat(leaseMs, heartbeatMs, capabilities.clockUncertaintyMs)
  const namespace = options.namespace ?? defaultNamespace(found.scope, options.tables)
  const label = sessionLabel(namespace)
  const fenced = options.fencing && capabilities.fencing === 'none'
  if (source.needsLockTable === true || fenced) {
    const store = storeOf(dialect, fenced)
    await makeTable(store, tables as Tables, { ...known, label, sharedSessions }, context)
  }
  return {
    dialect, source, capabilities, namespace,
    maxLocks: checkMaxLocks(options.maxLocks, capabilities),
    fence: fenced ? createFence(storeOf(dialect, true).sql, tables as Tables) : undefined,
    open: (purpose, limits = {}) => openGuarded(`lock ${purpose}`, (signal) => source.open(purpose, { ...known, label, sharedSessions, signal }), {
      ...reach, deadlineMs: limits.deadlineMs ?? openMs, signal: limits.signal ?? stopped,
    }),
    check: async () => { await probe(label) },
  }
}

/** @throws SchedError as `resolveDialect` */
export function dialectOf(options: CheckedLocksOptions): Promise<Dialect> {
  return options.dialect === undefined ? resolveDialect(options.url as string) : Promise.resolve(options.dialect)
}

function tablesOf(dialect: Dialect, { tables }: CheckedLocksOptions): Tables | undefined {
  if (dialect.store !== undefined) return tableNames(dialect.store.sql, tables)
  if (tables === undefined) return undefined
  throw new SchedError('SCHED_OPTION_INVALID', `tables was given, but the dialect ${dialect.name} has no store to keep tables in.`, { remedy: 'Leave it out.', details: { option: 'tables' } })
}

function storeOf(dialect: Dialect, forFencing: boolean): StoreDialect {
  if (dialect.store !== undefined) return dialect.store
  if (forFencing) throw new SchedError('SCHED_CAPABILITY_MISSING', `fencing is true, but the dialect ${dialect.name} has no store for the tokens.`, { remedy: 'Leave it out, or use a dialect with a store.' })
  throw new SchedError('SCHED_DIALECT_INVALID', `the dialect ${dialect.name} needs the lock table but has no store to make it in.`, { remedy: 'Ask its author.' })
}

async function makeTable(store: StoreDialect, tables: Tables, open: Omit<OpenOptions, 'signal'> & { sharedSessions: boolean }, { options, stopped }: SetUpContext): Promise<void> {
  const { clock, random, openMs, migrate, url } = options
  const classify = (error: unknown): ReturnType<StoreDialect['classify']> => store.classify(error)
  const session = await openGuarded('store', (signal) => store.open('store', { ...open, signal, statementMs: openMs, rowLockMs: Math.min(1000, openMs) }), { clock, random, deadlineMs: openMs, classify, url, signal: stopped })
  try {
    await ensureLockTable(session, { sql: store.sql, tables, migrate, sharedSessions: open.sharedSessions, deadlineMs: openMs, clock, random, signal: stopped })
  } finally {
    session.destroy(new SchedError('SCHED_STOPPED', 'the session that looked after the lock table has done its work.'))
  }
}

function checkMaxLocks(asked: number | undefined, { maxLocks }: LockCapabilities): number {
  if (asked === undefined || asked <= maxLocks) return asked ?? maxLocks
  throw new SchedError('SCHED_OPTION_INVALID', `maxLocks is ${asked}: expected at most ${maxLocks} on this server.`, {
    remedy: 'A server out of lock memory fails for everybody: take fewer, coarser locks.', details: { option: 'maxLocks' },
  })
}
