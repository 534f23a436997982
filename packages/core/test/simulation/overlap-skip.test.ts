import { expect, test } from 'vitest'
import { runSeeds, seedsFor } from './run-seeds.ts'

// What a run costs is mostly SQL: some 40 ms. More of them: SCHED_SIMULATION_RUNS.
test('I1 to I8, P1 P2 P5 P6 P7 P8 hold with overlap skip', async () => {
  const { runs, attempts } = await runSeeds('overlap skip', seedsFor(0, 1000), ['skip'])
  expect(attempts).toBeGreaterThan(runs)
}, 600_000)
