import type { LockCapabilities, LockDiagnostics, LockProbe, LockSource, StoreDialect } from '@sched/core/spi'
import { openLockTable, type LockTableConnection } from './lock-table-connection.ts'
import { lockTableStrategy } from './lock-table-strategy.ts'

export interface LockTableSourceOptions extends Pick<LockCapabilities, 'scope' | 'clockUncertaintyMs'> {
  readonly store: StoreDialect
  readonly diagnostics: LockDiagnostics<LockTableConnection>
}

// Refreshed once per heartbeat: some milliseconds per thousand rows, which on SQLite the event loop waits for.
const maxLocks = 1_000

/** Locks as rows of `sched_locks` in a store. */
export function lockTableSource({ store, diagnostics, scope, clockUncertaintyMs }: LockTableSourceOptions): LockSource<LockTableConnection> {
  const capabilities: LockCapabilities = {
    kind: 'lease', boundedStaleness: true, serverSideWait: false, fencing: 'row', inspection: true, scope, maxLocks, clockUncertaintyMs,
  }
  return {
    lockType: 'locktable',
    capabilities,
    needsLockTable: true,
    strategy: lockTableStrategy(store),
    diagnostics,
    probe: async (options): Promise<LockProbe> => {
      const probe = await store.probe(options)
      return { ...probe, capabilities: { ...capabilities, clockUncertaintyMs: Math.max(clockUncertaintyMs, probe.clockUncertaintyMs ?? 0) } }
    },
    // A wait is a try after a try, made by the core: both purposes are the same.
    open: (_purpose, options) => openLockTable(store, options),
    classify: (error) => store.classify(error),
  }
}
