import { SchedError, type Dialect } from '@sched/core/spi'
import { lockTableDiagnostics } from './lock-table-diagnostics.ts'
import { lockTableSource } from './lock-table-source.ts'

/**
 * The same database with its locks in a table instead of its native ones: for what has none, behind a transaction pooler, on a
 * cluster that replicates rows but not locks, and where a lock must carry a fencing token.
 * @throws SchedError SCHED_CAPABILITY_MISSING when the dialect has no store
 */
export function lockTable<TClient>(inner: Dialect<TClient>): Dialect<TClient> {
  const { store, locks } = inner
  if (store === undefined) {
    throw new SchedError('SCHED_CAPABILITY_MISSING', `the dialect ${inner.name} has no store, so there is no place for a lock table.`,
      { remedy: 'Use a dialect of a database.' })
  }
  return {
    spiVersion: 1,
    name: `locktable+${inner.name}`,
    locks: lockTableSource({
      store,
      diagnostics: lockTableDiagnostics(store, locks),
      // Rows are shared by whoever shares the tables, however far the native locks reach.
      scope: locks.capabilities.scope === 'host' ? 'host' : 'database',
      clockUncertaintyMs: locks.capabilities.clockUncertaintyMs,
    }),
    store,
    close: () => inner.close(),
  }
}
