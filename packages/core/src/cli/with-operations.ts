import { createOperations, type Operations } from '../executor/operations.ts'
import { requireSchema } from '../ledger/migrate.ts'
import { schemaSession } from '../ledger/schema-session.ts'
import { tableNames, type TableOptions } from '../ledger/tables.ts'
import { defaultNamespace } from '../locks/default-namespace.ts'
import { sessionLabel } from '../session/owner-label.ts'
import { reachDatabase } from '../session/reach-database.ts'
import type { StoreSession } from '../session/store-session.ts'
import type { LockSource, OpenOptions } from '../spi/lock-source.ts'
import type { StoreDialect, Tables } from '../spi/store-dialect.ts'
import { systemClock } from '../time/clock.ts'
import { LockHolders } from './lock-holders.ts'

export interface Place { readonly url: string; readonly tables: TableOptions; readonly namespace: string | undefined }

/** What `work` gets: a session on the database, its tables, the namespace that the instances use, and how another connection is opened. */
export interface OpenPlace { readonly session: StoreSession; readonly tables: Tables; readonly namespace: string; readonly options: Omit<OpenOptions, 'signal'> }

const leaseMs = 30_000
const reachMs = 10_000

/** Opens the ledger's database without running a node. @throws SchedError */
export async function withSession<T>(store: StoreDialect, place: Place, work: (open: OpenPlace) => Promise<T>): Promise<T> {
  const { url } = place
  const tables = tableNames(store.sql, place.tables)
  const open = { leaseMs, label: sessionLabel('cli'), tables }
  const { sharedSessions, scope } = await reachDatabase('looking at the database', (signal) => store.probe({ ...open, signal }), { clock: systemClock, random: Math.random, deadlineMs: reachMs, classify: (error) => store.classify(error), url })
  const session = schemaSession(store, { ...open, clock: systemClock, random: Math.random, url, sharedSessions })
  try {
    return await work({ session, tables, namespace: place.namespace ?? defaultNamespace(scope, place.tables), options: { ...open, sharedSessions } })
  } finally {
    session.close()
  }
}

/** @throws SchedError SCHED_SCHEMA_MISSING where no instance has ever started */
export function withOperations<T>(store: StoreDialect, locks: LockSource, place: Place, work: (operations: Operations, namespace: string) => Promise<T>): Promise<T> {
  return withSession(store, place, async ({ session, tables, namespace, options }) => {
    await requireSchema({ sql: store.sql, tables, tableOptions: place.tables, session, clock: systemClock })
    const holders = new LockHolders(locks, options, namespace, place.url)
    try {
      return await work(createOperations({ namespace, tables, sql: store.sql, overrides: store.overrides ?? {}, store: session }, { lockHolder: holders.holder }), namespace)
    } finally {
      await holders.close()
    }
  })
}
