import type {
  Dialect, LockConnection, LockDiagnostics, LockHolding, LockName, LockProbe, LockRequest, LockSource, LockStrategy, OpenOptions, StoreDialect,
} from '@sched/core/spi'

export interface Opened { readonly purpose: 'pulse' | 'wait'; readonly options: OpenOptions }

/** What is changed. Each function gets the real thing and answers the members that are different. */
export interface Alteration {
  strategy?(real: LockStrategy): Partial<LockStrategy>
  connection?(real: LockConnection, opened: Opened): Partial<LockConnection>
  source?(real: LockSource): Partial<LockSource>
  diagnostics?(real: LockDiagnostics): Partial<LockDiagnostics>
  store?(real: StoreDialect): Partial<StoreDialect>
}

/** The dialect with the alteration. Its connections are ours, and are turned back into the real ones before the real strategy sees them. */
export function altered(dialect: Dialect, alteration: Alteration): Dialect {
  const realOnes = new WeakMap<LockConnection, LockConnection>()
  const real = (connection: LockConnection): LockConnection => realOnes.get(connection) ?? connection
  const { locks, store } = dialect
  const strategy = throughReal(locks.strategy, real)
  const diagnostics = locks.diagnostics === undefined ? undefined : diagnosticsThroughReal(locks.diagnostics, real)
  const source: LockSource = {
    lockType: locks.lockType,
    capabilities: locks.capabilities,
    strategy: { ...strategy, ...alteration.strategy?.(strategy) },
    ...(diagnostics === undefined ? {} : { diagnostics: { ...diagnostics, ...alteration.diagnostics?.(diagnostics) } }),
    ...(locks.needsLockTable === undefined ? {} : { needsLockTable: locks.needsLockTable }),
    probe: (options) => locks.probe(options),
    async open(purpose, options) {
      const opened = await locks.open(purpose, options)
      const ours = { ...wrapped(opened), ...alteration.connection?.(opened, { purpose, options }) }
      realOnes.set(ours, opened)
      return ours
    },
    classify: (error) => locks.classify(error),
  }
  return {
    ...dialect,
    name: dialect.name,
    locks: { ...source, ...alteration.source?.(source) },
    ...(store === undefined ? {} : { store: { ...store, open: (purpose, options) => store.open(purpose, options), classify: (error) => store.classify(error), ...alteration.store?.(store) } }),
    close: () => dialect.close(),
  }
}

function wrapped(connection: LockConnection): LockConnection {
  const { id, sql } = connection
  return {
    ...(id === undefined ? {} : { id }), ...(sql === undefined ? {} : { sql }),
    ping: () => connection.ping(), destroy: () => connection.destroy(), ...(typeof connection.onLost === 'undefined' ? {} : { onLost: (callback) => connection.onLost?.(callback) }),
  }
}

function throughReal(strategy: LockStrategy, real: (connection: LockConnection) => LockConnection): LockStrategy {
  return {
    tryLock: (connection, request) => strategy.tryLock(real(connection), request),
    ...(strategy.lock === undefined ? {} : { lock: (connection, request, waitMs) => strategy.lock!(real(connection), request, waitMs) }),
    release: (connection, holding) => strategy.release(real(connection), holding),
    refresh: (connection, holdings, leaseMs) => strategy.refresh(real(connection), holdings, leaseMs),
    isHeld: (connection, holding) => strategy.isHeld(real(connection), holding),
    inspect: (connection, name) => strategy.inspect(real(connection), name),
  }
}

function diagnosticsThroughReal(diagnostics: LockDiagnostics, real: (connection: LockConnection) => LockConnection): LockDiagnostics {
  return {
    sessions: (connection, label) => diagnostics.sessions(real(connection), label),
    locks: (connection, label) => diagnostics.locks(real(connection), label),
    ...(diagnostics.kill === undefined ? {} : { kill: (connection, id) => diagnostics.kill!(real(connection), id) }),
  }
}

/** Every call is about another name than the one it was made for. */
export function renamed(dialect: Dialect, rename: (name: LockName) => LockName): Dialect {
  return altered(dialect, {
    strategy: (real) => changedHoldings(real, (request) => ({ ...request, name: rename(request.name) }), (holding) => ({ ...holding, name: rename(holding.name) }), rename),
  })
}

/** Every call is about another request or holding than the one it was made for. */
export function changedHoldings(
  real: LockStrategy, request: (given: LockRequest) => LockRequest, holding: (given: LockHolding) => LockHolding, name: (given: LockName) => LockName = (given) => given,
): Partial<LockStrategy> {
  return {
    tryLock: (connection, given) => real.tryLock(connection, request(given)),
    ...(real.lock === undefined ? {} : { lock: (connection, given, waitMs) => real.lock!(connection, request(given), waitMs) }),
    release: (connection, given) => real.release(connection, holding(given)),
    refresh: (connection, given, leaseMs) => real.refresh(connection, given.map(holding), leaseMs),
    isHeld: (connection, given) => real.isHeld(connection, holding(given)),
    inspect: (connection, given) => real.inspect(connection, name(given)),
  }
}

/** The probe answers other facts than the server has. */
export function probing(dialect: Dialect, lie: (probe: LockProbe) => LockProbe): Dialect {
  return altered(dialect, { source: (real) => ({ probe: async (options) => lie(await real.probe(options)) }) })
}
