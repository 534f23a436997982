import { describeServer } from '@sched-dev/databases'
import { postgres } from '@sched/dialect-postgres'
import { describe, it } from 'vitest'
import { mutants } from './mutants/index.ts'
import { expectCaught } from './mutants/caught.ts'

for (const base of ['postgres', 'postgres-oldest'] as const) {
  describeServer(base, ({ url }) => {
    // Each has names and labels of its own, and nothing here stops the process or its clock.
    describe.concurrent('broken', () => {
      for (const mutant of mutants.filter((candidate) => candidate.base === base)) {
        it(`${mutant.name}: caught by ${mutant.kills.join(', ')}`, () => expectCaught(mutant, postgres({ url }), url), 120_000)
      }
    })
  })
}
