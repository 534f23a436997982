import { describeServer } from '@sched-dev/databases'
import { postgres } from '@sched/dialect-postgres'
import { defineConformance } from '../src/vitest.ts'

describeServer('pgbouncer-session', ({ url }) => {
  defineConformance('advisory locks', () => postgres({ url }), { url, allowKill: true })
})
