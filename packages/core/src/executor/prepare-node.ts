import { SchedError } from '../errors.ts'
import { migrate, requireSchema } from '../ledger/migrate.ts'
import { schemaSession } from '../ledger/schema-session.ts'
import { tableNames } from '../ledger/tables.ts'
import { defaultNamespace } from '../locks/default-namespace.ts'
import { sessionLabel } from '../session/owner-label.ts'
import { reachDatabase, type ReachOptions } from '../session/reach-database.ts'
import type { Dialect } from '../spi/dialect.ts'
import type { LockSource, OpenOptions } from '../spi/lock-source.ts'
import type { Finding, LockProbe, Probe } from '../spi/probe.ts'
import type { StoreDialect, Tables } from '../spi/store-dialect.ts'
import type { CheckedOptions } from './scheduler-options.ts'

export interface PreparedNode {
  readonly store: StoreDialect
  readonly tables: Tables
  readonly namespace: string
  readonly probe: Probe
  /** How far the clocks of the servers behind the URL may disagree. */
  readonly clockUncertaintyMs: number
  readonly veto: { readonly source: LockSource; readonly probe: LockProbe } | undefined
}

const reachMs = 10_000

/**
 * Looks at the database before anything runs on it: refuses what is unsafe (P11), makes the tables, decides about the veto.
 * @throws SchedError with the reason and the way out
 */
export async function prepareNode(dialect: Dialect, options: CheckedOptions<never>, signal: AbortSignal, warn: (finding: Finding) => void): Promise<PreparedNode> {
  const store = dialect.store as StoreDialect
  const tables = tableNames(store.sql, options.tables)
  const classify = (error: unknown) => store.classify(error)
  const reach: Omit<ReachOptions, 'classify'> = { clock: options.clock, random: options.random, deadlineMs: reachMs, url: options.url, signal }
  const open = (given: AbortSignal): OpenOptions => ({ signal: given, leaseMs: options.leaseMs, label: sessionLabel(options.namespace ?? 'probe'), tables })

  const probe = await reachDatabase('looking at the database', (given) => store.probe(open(given)), { ...reach, classify })
  for (const finding of probe.findings) {
    if (finding.level === 'refuse') throw refused(finding)
    warn(finding)
  }
  const namespace = options.namespace ?? defaultNamespace(probe.scope, options.tables)
  const session = schemaSession(store, { clock: options.clock, random: options.random, url: options.url, leaseMs: options.leaseMs, label: sessionLabel(namespace), tables, sharedSessions: probe.sharedSessions })
  try {
    const context = { sql: store.sql, tables, tableOptions: options.tables, session, clock: options.clock, signal }
    await (options.migrate ? migrate(context) : requireSchema(context))
  } finally {
    session.close()
  }
  const veto = await chooseVeto(dialect, options, open, reach, warn)
  const known = (veto?.probe.capabilities ?? dialect.locks.capabilities).clockUncertaintyMs
  const clockUncertaintyMs = Math.max(known, probe.clockUncertaintyMs ?? 0)
  return { store, tables, namespace, probe, clockUncertaintyMs, veto }
}

/** The veto is a lock beside the ledger. Off, the ledger alone keeps every promise. */
async function chooseVeto(
  dialect: Dialect, options: CheckedOptions<never>, open: (signal: AbortSignal) => OpenOptions, reach: Omit<ReachOptions, 'classify'>, warn: (finding: Finding) => void,
): Promise<PreparedNode['veto']> {
  const source = options.locks ?? dialect.locks
  if (options.lockVeto === 'off') return undefined
  // With leases in a table the gate is the same thing.
  if (options.lockVeto === 'auto' && source.capabilities.kind === 'lease') return undefined
  const probe = await reachDatabase('looking at the lock source', (signal) => source.probe(open(signal)), { ...reach, classify: (error) => source.classify(error) })
  const refusal = probe.findings.find((finding) => finding.level === 'refuse')
  if (refusal !== undefined) {
    if (options.lockVeto === 'on') throw refused(refusal)
    warn({ ...refusal, level: 'warn', remedy: `The scheduler goes on with the ledger alone, which keeps every promise. ${refusal.remedy}` })
    return undefined
  }
  if (!probe.capabilities.boundedStaleness) {
    if (options.lockVeto === 'auto') return undefined
    warn({ level: 'warn', code: 'SCHED_CAPABILITY_MISSING', message: `${probe.product} ${probe.version} does not end the lock of a frozen holder.`, remedy: `With lockVeto 'on' a frozen instance stops its tasks until its session ends; 'auto' would go on without the lock.` })
  }
  return { source, probe }
}

function refused({ code, message, remedy }: Finding): SchedError {
  return new SchedError(code, message, { remedy })
}

