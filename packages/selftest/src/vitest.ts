import type { Dialect } from '@sched/core/spi'
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { ConformanceCase, Group } from './case.ts'
import { conformanceCases } from './cases/index.ts'
import { ConformanceRun } from './run/conformance-run.ts'
import type { RunOptions } from './run/run-options.ts'

export interface VitestOptions extends RunOptions {
  /** Default: all of them. */
  readonly cases?: readonly ConformanceCase[]
}

/**
 * Every case of the suite as a test of vitest, on one run: `describe(name)`, a describe per group, an `it` per case. A case that is not
 * applicable or skipped is marked so with its reason. The dialect is made before the first test and closed after the last.
 */
export function defineConformance(name: string, createDialect: () => Dialect | Promise<Dialect>, options: VitestOptions = {}): void {
  const { cases = conformanceCases, ...runOptions } = options
  describe(name, () => {
    let dialect: Dialect
    let run: ConformanceRun
    let executed = 0
    beforeAll(async () => {
      dialect = await createDialect()
      run = await ConformanceRun.start(dialect, { leaseMs: 1_000, ...runOptions })
    }, 60_000)
    afterAll(async () => {
      const problems = await run?.close() ?? []
      await dialect?.close()
      if (problems.length > 0) throw new Error(problems.join('; '))
    }, 60_000)
    for (const group of new Set(cases.map((testCase) => testCase.group))) {
      describe(group, () => defineGroupTests(group))
    }
    it('executed at least one case', () => {
      if (executed === 0) throw new Error('no case was executed: nothing was proven')
    })

    function defineGroupTests(group: Group): void {
      for (const testCase of cases.filter((candidate) => candidate.group === group)) {
        it(`${testCase.id} ${testCase.level} ${testCase.title}`, async (test) => {
          const { verdict, failure, reason } = await run.run(testCase)
          if (verdict === 'not-applicable' || verdict === 'skipped') { test.skip(`${verdict}: ${reason ?? ''}`); return }
          executed += 1
          if (verdict === 'fail') throw new Error(failure?.message ?? 'failed')
        }, testCase.budgetMs + 120_000)
      }
    }
  })
}
