import { onTestFinished } from 'vitest'
import { createLocks, type Locks } from '@sched/core'
import { lockTable } from '@sched/dialect-locktable'
import { mysql } from '../../src/index.ts'

/** Locks on the lock table of a database, as an application has them: with the core's retries. */
export function tableLocks(url: string, namespace: string): Locks {
  const dialect = lockTable(mysql({ url }))
  const locks = createLocks({ dialect, namespace, leaseMs: 20_000 })
  onTestFinished(async () => {
    await locks.close()
    await dialect.close()
  })
  return locks
}
