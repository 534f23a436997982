import { expect, it, onTestFinished } from 'vitest'
import { virtualNodes } from '../../src/testing/index.ts'

const heartbeatMs = 10_000

it('P1: every node obeys a pause and a resume within one heartbeat, the asked one at once', async () => {
  const cluster = virtualNodes(3, { scheduler: { leaseMs: 30_000, heartbeatMs }, tasks: (node) => { node.task('job', { everyMs: 1000 }, () => undefined) } })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  await cluster.advance(5500)
  const [asked, other] = cluster.nodes.map(({ scheduler }) => scheduler)
  const startsSince = (instant: number): number => cluster.runs('job').filter(({ startedAt }) => startedAt > instant).length

  expect(await cluster.clock.until(asked!.pause('job', { reason: 'stocktaking' }))).toBe(true)
  const pausedAt = cluster.clock.worldMs()
  expect(await cluster.clock.until(other!.tasks())).toMatchObject([{ state: 'paused', reason: 'stocktaking' }])
  expect(await cluster.clock.until(other!.pause('job'))).toBe(false)
  // The others may try until their next heartbeat, but the ledger lets nobody claim.
  await cluster.advance(60_000)
  expect(startsSince(pausedAt)).toBe(0)
  const before = cluster.ledger('job').length

  expect(await cluster.clock.until(other!.resume('job'))).toBe(true)
  const resumedAt = cluster.clock.worldMs()
  await cluster.advance(1500)
  expect(new Set(cluster.runs('job').filter(({ startedAt }) => startedAt > resumedAt).map(({ node }) => node))).toEqual(new Set(['node-1']))
  await cluster.advance(heartbeatMs)
  const obeyedAt = cluster.clock.worldMs()
  // The first heard it from its heartbeat only: alone it runs every slot.
  for (const node of cluster.nodes.slice(1)) await cluster.clock.until(node.stop())
  await cluster.advance(10_000)
  expect(startsSince(obeyedAt)).toBeGreaterThanOrEqual(9)
  expect(cluster.ledger('job').slice(before)[0]).toMatchObject({ state: 'missed', errorCode: 'paused', missedCount: 60 })
  expect(cluster.ledger('job').every(({ state, errorCode }) => state === 'succeeded' || errorCode === 'paused')).toBe(true)
})
