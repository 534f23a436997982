import type { Dialect } from '@sched/core/spi'
import { expect } from 'vitest'
import { coreLocks } from '../../src/core-locks.ts'
import { conformanceCases } from '../../src/cases/index.ts'
import { ConformanceRun } from '../../src/run/conformance-run.ts'
import type { Mutant } from './mutant.ts'

/** Runs the cases that a mutant names, and expects each of them to fail on it. */
export async function expectCaught(mutant: Mutant, base: Dialect, url?: string): Promise<void> {
  const leftovers: (() => void | Promise<void>)[] = []
  const litter = { leave: (leftover: { destroy(): void } | { close(): Promise<void> }): void => { leftovers.push(() => ('destroy' in leftover ? leftover.destroy() : leftover.close())) } }
  const dialect = mutant.dialect?.(base, litter) ?? base
  const createLocks = mutant.createLocks?.(coreLocks, litter) ?? coreLocks
  const run = await ConformanceRun.start(dialect, { leaseMs: 1_000, allowKill: true, createLocks, ...(url === undefined ? {} : { url }) })
  try {
    for (const kill of mutant.kills) {
      const [id = '', variant = 'case'] = kill.split('/')
      const testCase = conformanceCases.find((candidate) => candidate.id === id)
      if (testCase === undefined) throw new Error(`the mutant names ${id}, which is no case`)
      const result = await run.run(testCase)
      expect({ kill, verdict: result.verdict, variant: result.variant, message: result.failure?.message ?? result.reason }).toEqual({ kill, verdict: 'fail', variant, message: expect.any(String) as string })
      if (process.env['SELFTEST_SHOW_KILLS'] === '1') console.log(`${mutant.name} | ${kill} | ${result.durationMs} ms | ${result.failure?.message}`)
    }
  } finally {
    for (const end of leftovers) await end()
    await run.close()
    await base.close()
  }
}
