import { createOperations, type Operations } from '../executor/operations.ts'
import { requireSchema } from '../ledger/migrate.ts'
import { schemaSession } from '../ledger/schema-session.ts'
import { tableNames, type TableOptions } from '../ledger/tables.ts'
import { defaultNamespace } from '../locks/default-namespace.ts'
import { sessionLabel } from '../session/owner-label.ts'
import { reachDatabase } from '../session/reach-database.ts'
import type { StoreSession } from '../session/store-session.ts'
import type { StoreDialect, Tables } from '../spi/store-dialect.ts'
import { systemClock } from '../time/clock.ts'

export interface Place { readonly url: string; readonly tables: TableOptions; readonly namespace: string | undefined }

/** What `work` gets: a session on the database, its tables, and the namespace that the instances use. */
export interface OpenPlace { readonly session: StoreSession; readonly tables: Tables; readonly namespace: string }

const leaseMs = 30_000
const reachMs = 10_000

/** Opens the ledger's database without running a node. @throws SchedError */
export async function withSession<T>(store: StoreDialect, place: Place, work: (open: OpenPlace) => Promise<T>): Promise<T> {
  const { url } = place
  const tables = tableNames(store.sql, place.tables)
  const open = { leaseMs, label: sessionLabel('cli'), tables }
  const { sharedSessions, scope } = await reachDatabase('looking at the database', (signal) => store.probe({ ...open, signal }), { clock: systemClock, deadlineMs: reachMs, classify: (error) => store.classify(error), url })
  const session = schemaSession(store, { ...open, clock: systemClock, random: Math.random, url, sharedSessions })
  try {
    return await work({ session, tables, namespace: place.namespace ?? defaultNamespace(scope, place.tables) })
  } finally {
    session.close()
  }
}

/** @throws SchedError SCHED_SCHEMA_MISSING where no instance has ever started */
export function withOperations<T>(store: StoreDialect, place: Place, work: (operations: Operations) => Promise<T>): Promise<T> {
  return withSession(store, place, async ({ session, tables, namespace }) => {
    await requireSchema({ sql: store.sql, tables, tableOptions: place.tables, session, clock: systemClock })
    return work(createOperations({ namespace, tables, sql: store.sql, overrides: store.overrides ?? {}, store: session }))
  })
}
