import { describeServer } from '@sched-dev/databases'
import { lockTable } from '@sched/dialect-locktable'
import { postgres } from '@sched/dialect-postgres'
import { defineConformance } from '../src/vitest.ts'

describeServer('postgres', ({ url }) => {
  defineConformance('the lock table on PostgreSQL', () => lockTable(postgres({ url })), { url, allowKill: true })
})
