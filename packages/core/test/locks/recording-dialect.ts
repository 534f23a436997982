import type { Dialect } from '../../src/spi/dialect.ts'
import type { LockConnection, LockHolding, LockSource, LockStrategy } from '../../src/spi/lock-source.ts'

export interface Recorded { readonly method: string; readonly names: readonly string[]; readonly session: string | number | undefined; readonly at: number }

/** The dialect, and a record of every call of its lock technique: which name, on which session. */
export function recordingDialect(inner: Dialect): { dialect: Dialect; calls: Recorded[]; opened: string[] } {
  const calls: Recorded[] = []
  const opened: string[] = []
  const record = (method: string, connection: LockConnection, names: readonly string[]): void => { calls.push({ method, names, session: connection.id, at: performance.now() }) }
  const { strategy } = inner.locks
  const nameOf = ({ name }: Pick<LockHolding, 'name'>): string => name.name
  const recording: LockStrategy = {
    tryLock: (connection, request) => { record('tryLock', connection, [nameOf(request)]); return strategy.tryLock(connection, request) },
    release: (connection, holding) => { record('release', connection, [nameOf(holding)]); return strategy.release(connection, holding) },
    refresh: (connection, holdings, leaseMs) => { record('refresh', connection, holdings.map(nameOf)); return strategy.refresh(connection, holdings, leaseMs) },
    isHeld: (connection, holding) => { record('isHeld', connection, [nameOf(holding)]); return strategy.isHeld(connection, holding) },
    inspect: (connection, name) => { record('inspect', connection, [name.name]); return strategy.inspect(connection, name) },
    ...(strategy.lock === undefined ? {} : { lock: (connection, request, waitMs) => { record('lock', connection, [nameOf(request)]); return strategy.lock!(connection, request, waitMs) } }),
  }
  const locks: LockSource = Object.create(inner.locks, {
    strategy: { value: recording },
    open: { value: (purpose: 'pulse' | 'wait', options: Parameters<LockSource['open']>[1]) => { opened.push(purpose); return inner.locks.open(purpose, options) } },
  }) as LockSource
  return { dialect: { ...inner, locks }, calls, opened }
}
