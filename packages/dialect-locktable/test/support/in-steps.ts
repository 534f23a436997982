import type { Dialect } from '@sched/core/spi'
import { lockTable } from '../../src/index.ts'

/** The lock table on a database as if it had no atomic upsert: what MySQL, Oracle and SQL Server will use. */
export function inSteps(inner: Dialect): Dialect {
  const { store } = inner
  if (store === undefined) throw new Error(`${inner.name} has no store`)
  return lockTable({ ...inner, store: { ...store, sql: { ...store.sql, supportsOnConflict: false } } })
}
