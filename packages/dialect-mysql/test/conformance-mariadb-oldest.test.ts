import { describeServer } from '@sched-dev/databases'
import { lockTable } from '@sched/dialect-locktable'
import { defineConformance } from '@sched/selftest/vitest'
import { mysql } from '../src/index.ts'

describeServer('mariadb-oldest', ({ url }) => {
  defineConformance('P3, P4, P5, P10: GET_LOCK', () => mysql({ url }), { url, allowKill: true })
  defineConformance('P4, P5, P7, P10: the lock table', () => lockTable(mysql({ url })), { url: `locktable+${url}`, allowKill: true })
})
