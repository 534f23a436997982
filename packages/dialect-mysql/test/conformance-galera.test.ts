import { describeServer } from '@sched-dev/databases'
import { lockTable } from '@sched/dialect-locktable'
import { defineConformance } from '@sched/selftest/vitest'
import { mysql } from '../src/index.ts'

// Native locks are refused there: probe.test.ts. Contention over both nodes: galera.test.ts.
describeServer('galera-1', ({ url }) => {
  defineConformance('P4, P5, P7, P10: the lock table', () => lockTable(mysql({ url })), { url: `locktable+${url}`, allowKill: true })
})
