import { expect, test } from 'vitest'
import { virtualNodes } from '../../src/testing/index.ts'

const second = (number: number): Date => new Date(Date.UTC(2030, 0, 1, 0, 0, number))

test('P10: after a canary has registered another definition and died, explain tells a mismatch', async () => {
  const cluster = virtualNodes(1, {
    scheduler: (index) => ({ leaseMs: 6000, heartbeatMs: 1000, revision: index + 1 }),
    tasks: (node) => { node.task('tick', { everyMs: 5000, timeoutMs: 1000 + node.index }, () => undefined) },
  })
  await cluster.start()
  await cluster.advance(12_000)
  const [stable] = cluster.nodes
  const explain = async (time: Date) => cluster.clock.until(stable?.scheduler.explain('tick', time) ?? Promise.reject(new Error('no node')))
  expect(await explain(second(10))).toMatchObject({ verdict: 'ran' })
  const canary = cluster.add()
  await cluster.start()
  canary.kill()
  await cluster.advance(7000)
  expect(await explain(second(15))).toMatchObject({ verdict: 'definition-mismatch', text: expect.stringContaining('revision 2') as string })
  await cluster.stop()
})

test('P10: a run whose row retention has deleted is forgotten', async () => {
  const cluster = virtualNodes(1, {
    scheduler: { leaseMs: 60_000, heartbeatMs: 20_000, retentionMs: 0 }, startAt: '2030-01-01T00:00:00Z',
    tasks: (node) => { node.task('hourly', { cron: '0 * * * *', misfire: 'skip', catchUpWindowMs: 60_000 }, () => undefined) },
  })
  await cluster.start()
  await cluster.advanceTo('2030-01-01T06:30:00Z')
  const explain = async (hour: number) => cluster.clock.until(cluster.nodes[0]?.scheduler.explain('hourly', new Date(Date.UTC(2030, 0, 1, hour))) ?? Promise.reject(new Error('no node')))
  expect(await explain(6)).toMatchObject({ verdict: 'ran' })
  expect(cluster.ledger().map(({ fireTime }) => fireTime.getUTCHours())).not.toContain(1)
  expect(await explain(1)).toMatchObject({ verdict: 'forgotten' })
  await cluster.stop()
})
