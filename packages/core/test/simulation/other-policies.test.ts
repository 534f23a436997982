import { expect, test } from 'vitest'
import { runSeeds, seedsFor } from './run-seeds.ts'

test('I1 to I8, P1 P2 P5 P6 P7 P8 hold with overlap allow, queue-one and cancel-previous', async () => {
  const { runs, attempts } = await runSeeds('other policies', seedsFor(1, 1000), ['allow', 'queue-one', 'cancel-previous'])
  expect(attempts).toBeGreaterThan(runs)
}, 600_000)
