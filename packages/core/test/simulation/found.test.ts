import { expect, test } from 'vitest'
import { freeze, lose, silence, virtualNodes } from '../../src/testing/index.ts'

// What the simulation has found, told again without chance.

const scheduler = { leaseMs: 3000, heartbeatMs: 750, abortGraceMs: 300 } as const
const begin = Date.UTC(2030, 0, 1)

test('P7: a transaction that was committed is not called fenced by a process that froze before the answer', async () => {
  const cluster = virtualNodes(2, {
    scheduler, tasks: (node) => { node.task('job', { everyMs: 60_000, startAt: new Date(begin + 60_000) }, (context) => context.transaction(() => undefined)) },
  })
  await cluster.start()
  cluster.faults.before('finish COMMIT', freeze('before-reply', 8000))
  await cluster.advance(80_000)
  expect(cluster.ledger('job')).toMatchObject([{ state: 'succeeded', attempt: 1 }])
  expect(cluster.nodes.flatMap((node) => node.events('execution.fenced'))).toEqual([])
  expect(cluster.nodes.flatMap((node) => node.events('execution.succeeded'))).toHaveLength(1)
  await cluster.stop()
})

test('P7: an attempt that ended as a retry is not called fenced because the next one was quick', async () => {
  const cluster = virtualNodes(2, {
    scheduler,
    tasks: (node) => {
      node.task('job', { everyMs: 60_000, retry: { max: 1, backoffMs: 10 } }, async ({ attempt }) => {
        await node.sleep(100)
        if (attempt === 1) throw new Error('the first attempt fails')
      })
    },
  })
  await cluster.start()
  cluster.faults.before('finish COMMIT', silence('before-reply'))
  await cluster.advance(70_000)
  expect(cluster.runs('job').map(({ attempt, outcome }) => [attempt, outcome])).toEqual([[1, 'threw'], [2, 'returned']])
  expect(cluster.nodes.flatMap((node) => node.events('execution.fenced'))).toEqual([])
  await cluster.stop()
})

test('P7: an attempt that failed is not called fenced because a person had it retried at once', async () => {
  const cluster = virtualNodes(2, { scheduler, tasks: (node) => { node.task('job', { everyMs: 60_000 }, async ({ attempt }) => { if (attempt === 1) throw new Error('the first attempt fails'); await node.sleep(5000) }) } })
  await cluster.start()
  cluster.faults.before('finish COMMIT', silence('before-reply'))
  await cluster.advance(60_100)
  const { scheduler: asked } = cluster.nodes.find((node) => node.name !== cluster.runs('job')[0]?.node)!
  await cluster.clock.until(asked.retry(cluster.ledger('job')[0]!.executionId))
  await cluster.advance(10_000)
  expect(cluster.runs('job').map(({ attempt, reason, outcome }) => [attempt, reason, outcome])).toEqual([[1, 'scheduled', 'threw'], [2, 'manual', 'returned']])
  expect(cluster.nodes.flatMap((node) => node.events('execution.fenced'))).toEqual([])
  expect(cluster.nodes.flatMap((node) => node.events('execution.failed'))).toHaveLength(1)
  await cluster.stop()
})

test('I2: a handler that outlives its timeout and the database keeps its gate until its row has ended', async () => {
  const cluster = virtualNodes(2, { scheduler, tasks: (node) => { node.task('job', { everyMs: 1000, timeoutMs: 500 }, () => node.sleep(900)) } })
  await cluster.start()
  await cluster.advance(1500)
  cluster.database.stop()
  await cluster.advance(5000)
  cluster.database.restart()
  for (let step = 0; step < 400; step += 1) {
    await cluster.advance(10)
    expect(cluster.ledger('job').filter(({ state }) => state === 'running').length).toBeLessThanOrEqual(1)
  }
  await cluster.stop()
})

test('P1: no fire time is forgotten when the database’s clock steps back behind it', async () => {
  const cluster = virtualNodes(1, { scheduler, tasks: (node) => { node.task('job', { everyMs: 1000 }, () => node.sleep(50)) } })
  await cluster.start()
  await cluster.advance(6900)
  cluster.database.jumpClock(-1500)
  cluster.faults.before('slot', lose('before-send'))
  await cluster.advance(12_000)
  const seen = cluster.ledger('job').flatMap(({ fireTime, missedFrom, missedCount }) => (missedFrom === null ? [fireTime.getTime() - begin] : Array.from({ length: missedCount ?? 0 }, (_, index) => missedFrom.getTime() - begin + index * 1000)))
  expect(seen.slice(0, 15)).toEqual(Array.from({ length: 15 }, (_, index) => (index + 1) * 1000))
  await cluster.stop()
})

test('P6: a fire time that comes again after a pause, since the database’s clock stepped back, is claimed', async () => {
  const cluster = virtualNodes(1, { scheduler: { ...scheduler, heartbeatMs: 700 }, tasks: (node) => { node.task('job', { everyMs: 3000 }, () => node.sleep(50)) } })
  await cluster.start()
  const { scheduler: asked } = cluster.nodes[0]!
  await cluster.advance(4800)
  await cluster.clock.until(asked.pause('job'))
  await cluster.advance(900)
  cluster.database.jumpClock(-1400)
  // The timer for 6000 rings before the next heartbeat reads the clock.
  await cluster.advance(700)
  await cluster.clock.until(asked.resume('job'))
  await cluster.advance(2500)
  expect(cluster.ledger('job').map(({ fireTime, state }) => [fireTime.getTime() - begin, state])).toEqual([[3000, 'succeeded'], [6000, 'succeeded']])
  await cluster.stop()
})

test('P6: a fire time whose claim waits for a worker when the database’s clock steps back is claimed when it comes again', async () => {
  const cluster = virtualNodes(1, {
    scheduler: { ...scheduler, heartbeatMs: 700, concurrency: 1 },
    tasks: (node) => {
      node.task('job', { everyMs: 3000 }, () => node.sleep(50))
      node.task('hog', { everyMs: 3_600_000, recovery: 'fail' }, ({ signal }) => node.sleep(5000, signal))
    },
  })
  await cluster.start()
  await cluster.advance(5000)
  await cluster.clock.until(cluster.nodes[0]!.scheduler.trigger('hog'))
  await cluster.advance(700)
  // The lease that was granted by the old clock is given up at the next heartbeat, and the hog with it: the worker is free without a right to run.
  cluster.database.jumpClock(-1400)
  await cluster.advance(3500)
  expect(cluster.ledger('job').map(({ fireTime, state }) => [fireTime.getTime() - begin, state])).toEqual([[3000, 'succeeded'], [6000, 'succeeded']])
  await cluster.stop()
})
