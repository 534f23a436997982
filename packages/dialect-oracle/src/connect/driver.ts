import { SchedError } from '@sched/core/spi'
import type { OracleConnection } from './oracle-client.ts'

/** What is needed of the module `oracledb`. */
export interface OracleDriver {
  getConnection(config: object): Promise<OracleConnection>
  /** Types of binds and columns; the driver wants its own objects, numbers will not do. */
  readonly STRING: unknown
  readonly NUMBER: unknown
  readonly CLOB: unknown
  readonly BIND_OUT: number
  readonly OUT_FORMAT_ARRAY: number
}

export type LoadDriver = () => Promise<OracleDriver>

/**
 * Imports `oracledb` when the first session is opened: who only imports this package to read its types needs none.
 * @throws SchedError SCHED_DIALECT_NOT_INSTALLED
 */
export async function loadDriver(): Promise<OracleDriver> {
  try {
    const { default: driver } = await import('oracledb')
    return driver
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new SchedError('SCHED_DIALECT_NOT_INSTALLED', 'the driver `oracledb` is not installed.', { cause: error, remedy: 'npm install oracledb' })
  }
}
