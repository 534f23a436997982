import { expect, test } from 'vitest'
import { runSeeds, seedsFor } from './run-seeds.ts'

// A run costs some 25 to 50 ms. More or fewer of them: SCHED_SIMULATION_RUNS. In halves, so that two workers can share them.
test('I1 to I8, P1 P2 P5 P6 P7 P8 hold with overlap skip (first half)', async () => {
  const { runs, attempts } = await runSeeds('overlap skip, first half', seedsFor(0, 2200), ['skip'])
  expect(attempts).toBeGreaterThan(runs)
}, 900_000)
