import { expect, test } from 'vitest'
import { runSeeds, seedsFor } from './run-seeds.ts'

// A run costs some 25 to 50 ms. More or fewer of them: SCHED_SIMULATION_RUNS. In halves, so that two workers can share them.
test('I1 to I8, P1 P2 P5 P6 P7 P8 hold with overlap allow, queue-one and cancel-previous (second half)', async () => {
  const { runs, attempts } = await runSeeds('other policies, second half', seedsFor(3, 2200), ['allow', 'queue-one', 'cancel-previous'])
  expect(attempts).toBeGreaterThan(runs)
}, 900_000)
