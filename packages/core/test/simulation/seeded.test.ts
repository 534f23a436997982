import { expect, test } from 'vitest'
import type { OverlapPolicy } from '../../src/executor/task-definition.ts'
import { readAudit } from './audit.ts'
import { drawScenario } from './scenario.ts'
import { simulate } from './simulate.ts'

// Seeds in which nodes register again and again: their pauses once came from the host's own chance.
const seeds: readonly (readonly [number, OverlapPolicy])[] = [[20261142, 'skip'], [20261212, 'skip'], [20261227, 'skip'], [22261162, 'allow']]

test.each(seeds)('seed %i plays the same every time', async (seed, overlap) => {
  const play = async () => {
    const { cluster, touches } = await simulate(drawScenario(seed, [overlap]))
    return { touches, audit: readAudit(cluster.database), ledger: cluster.ledger(), events: cluster.nodes.map((node) => node.events('error').map(({ where }) => where)) }
  }
  expect(await play()).toEqual(await play())
})
