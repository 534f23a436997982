import { SchedError } from '@sched/core/spi'
import type { PgOwnedClient } from './pg-client.ts'

/** What is needed of the module `pg`. */
export interface PgDriver {
  readonly Client: new (config: object) => PgOwnedClient
}

/**
 * Imports `pg` when the first connection of our own is opened: who hands over a pool has loaded it, and who only imports this
 * package to read its types needs none.
 * @throws SchedError SCHED_DIALECT_NOT_INSTALLED
 */
export async function loadDriver(): Promise<PgDriver> {
  try {
    // Before 8.16 the module is CommonJS alone and its members are on `default`; later they are on both.
    const { default: driver } = await import('pg')
    return driver
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new SchedError('SCHED_DIALECT_NOT_INSTALLED', 'the driver `pg` is not installed.', { cause: error, remedy: 'npm install pg' })
  }
}
