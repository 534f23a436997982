import { expect, it } from 'vitest'
import { virtualNodes } from '../../src/testing/index.ts'

const dayMs = 86_400_000

// Nothing but the one task, so that no other timer brings the plan up to date.
it.each([-200, -50, 200])('P9: instances whose clocks depart by %i millionths fire a daily task by the database\'s clock', async (driftPpm) => {
  const cluster = virtualNodes(2, {
    startAt: '2030-01-05T03:30:00Z', scheduler: { leaseMs: 180_000, heartbeatMs: 60_000 }, clocks: () => ({ driftPpm }),
    tasks: (node) => { node.task('rare', { cron: '0 3 * * *', misfire: 'stall' }, () => {}) },
  })
  await cluster.start()
  await cluster.advance(2 * dayMs)
  expect(cluster.runs('rare').map(({ reason }) => reason)).toEqual(['scheduled', 'scheduled'])
  for (const { fireTime, startedAt } of cluster.runs('rare')) expect(startedAt - fireTime.getTime()).toBeLessThan(100)
  await cluster.stop()
}, 120_000)
