import { expect, test } from 'vitest'
import { runSeeds, seedsFor } from './run-seeds.ts'
import { drawOperatedScenario } from './scenario.ts'

test('I1 to I8, P1 P2 P5 P6 P7 P8 hold while people pause, trigger, cancel and retry, and nothing missed is passed over', async () => {
  const { runs, attempts } = await runSeeds('operated', seedsFor(4, 1200), ['skip', 'allow', 'queue-one', 'cancel-previous'], drawOperatedScenario)
  expect(attempts).toBeGreaterThan(runs)
}, 900_000)
