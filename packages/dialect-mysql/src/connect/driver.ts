import { SchedError } from '@sched/core/spi'
import type { MysqlConnection, MysqlPromiseConnection } from './mysql-client.ts'

/** A connection that was made here. */
export interface MysqlOwnConnection extends MysqlConnection {
  connect(callback: (error: Error | null) => void): void
  promise(): MysqlPromiseConnection
}

/** What is needed of the module `mysql2`. */
export interface MysqlDriver { readonly createConnection: (this: void, config: object) => MysqlOwnConnection }

/**
 * Imports `mysql2` when the first connection of our own is opened: who hands over a pool has loaded it, and who only imports this
 * package to read its types needs none.
 * @throws SchedError SCHED_DIALECT_NOT_INSTALLED
 */
export async function loadDriver(): Promise<MysqlDriver> {
  try {
    const { default: driver } = await import('mysql2')
    return driver as unknown as MysqlDriver
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new SchedError('SCHED_DIALECT_NOT_INSTALLED', 'the driver `mysql2` is not installed.', { cause: error, remedy: 'npm install mysql2' })
  }
}
