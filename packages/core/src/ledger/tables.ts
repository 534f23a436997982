import { SchedError } from '../errors.ts'
import type { SqlFragments, Tables } from '../spi/store-dialect.ts'

/** Where the tables are. */
export interface TableOptions {
  /** A schema that exists; default: the one the connection uses. */
  schema?: string
  /** Default `sched_`. */
  prefix?: string
}

const identifier = /^[a-z][a-z0-9_]*$/
// Old Oracle allows 30 bytes; the longest name of ours behind the prefix is `executions_state_ix`.
const longestPrefix = 10

/** @throws SchedError SCHED_OPTION_INVALID for a prefix or schema that is no plain lower-case identifier */
export function tableNames(sql: SqlFragments, options: TableOptions = {}): Tables {
  const { schema, prefix = 'sched_' } = options
  if (!identifier.test(prefix) || prefix.length > longestPrefix) {
    throw new SchedError('SCHED_OPTION_INVALID', `the table prefix ${JSON.stringify(prefix)} is not valid: expected a lower-case identifier of at most ${longestPrefix} characters.`)
  }
  if (schema !== undefined && (!identifier.test(schema) || schema.length > 30)) {
    throw new SchedError('SCHED_OPTION_INVALID', `the schema ${JSON.stringify(schema)} is not valid: expected a lower-case identifier of at most 30 characters.`)
  }
  const name = (table: string): string => (schema === undefined ? '' : `${sql.quote(schema)}.`) + sql.quote(prefix + table)
  return { tasks: name('tasks'), executions: name('executions'), nodes: name('nodes'), meta: name('meta'), locks: name('locks') }
}
