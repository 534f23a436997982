import { describeServer } from '@sched-dev/databases'
import { lockTable } from '@sched/dialect-locktable'
import { postgres } from '@sched/dialect-postgres'
import { selectCases } from '../src/selection.ts'
import { defineConformance } from '../src/vitest.ts'

describeServer('pgbouncer-transaction', ({ url }) => {
  defineConformance('the lock table behind a transaction pooler', () => lockTable(postgres({ url })), {
    url, allowKill: true,
    // What depends on where a statement runs; the rest is tested without the pooler.
    cases: selectCases(['connect', 'try', 'release', 'owner', 'refresh', 'fencing', 'contention', 'errors', 'residue']).selected,
  })
})
