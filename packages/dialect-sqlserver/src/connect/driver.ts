import { createRequire } from 'node:module'
import { SchedError } from '@sched/core/spi'
import type { TediousDriver } from './tedious-types.ts'

const requireHere = createRequire(import.meta.url)

/**
 * `tedious`, loaded when the first connection is opened. `mssql` brings a copy of its own, which is not found from here under pnpm:
 * that one is taken where there is no other, and first of all for connections of an mssql pool, whose requests it must understand.
 * @throws SchedError SCHED_DIALECT_NOT_INSTALLED
 */
export function loadDriver(first: 'tedious' | 'mssql'): TediousDriver {
  const ways = first === 'mssql' ? [besideMssql, direct] : [direct, besideMssql]
  for (const way of ways) {
    const driver = unlessMissing(way)
    if (driver !== undefined) return driver
  }
  throw new SchedError('SCHED_DIALECT_NOT_INSTALLED', 'the driver `tedious` is not installed.', { remedy: 'npm install tedious' })
}

function direct(): TediousDriver { return requireHere('tedious') as TediousDriver }

function besideMssql(): TediousDriver { return createRequire(requireHere.resolve('mssql'))('tedious') as TediousDriver }

function unlessMissing(way: () => TediousDriver): TediousDriver | undefined {
  try {
    return way()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}
