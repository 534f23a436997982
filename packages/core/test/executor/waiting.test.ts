import { describe, expect, test, vi } from 'vitest'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import { delay, fail, virtualNodes, type Run, type VirtualHandler, type VirtualNodes } from '../../src/testing/index.ts'

// Hours of virtual time keep a core busy.
vi.setConfig({ testTimeout: 60_000 })

const begin = Date.UTC(2030, 0, 5, 3)
const minuteMs = 60_000

/** A cluster with one task, from 03:00 of a Saturday. */
function withTask(count: number, options: TaskOptions, handler: VirtualHandler, heartbeatMs = 10_000): VirtualNodes {
  return virtualNodes(count, { startAt: begin, scheduler: { leaseMs: 3 * heartbeatMs, heartbeatMs }, tasks: (node) => { node.task('job', options, (context) => handler(context, node)) } })
}

const since = (runs: readonly Run[]): (readonly [string, number, number])[] => runs.map(({ reason, fireTime, startedAt }) => [reason, fireTime.getTime() - begin, Math.floor((startedAt - begin) / 100) * 100] as const)
const states = (cluster: VirtualNodes): (readonly [number, string, string | null])[] => cluster.ledger('job').map(({ fireTime, state, errorCode }) => [fireTime.getTime() - begin, state, errorCode] as const)

describe('a retry', () => {
  test.each([['queue-one', 'run-once'], ['skip', 'run-all']] as const)('P6: is not starved by a queue that is never empty (overlap %s, misfire %s)', async (overlap, misfire) => {
    let first: string | undefined
    const cluster = withTask(2, { everyMs: 20_000, overlap, misfire, retry: { max: 1, backoffMs: 5000 } }, async ({ executionId, attempt }, node) => {
      await node.sleep(21_000)
      first ??= executionId
      if (executionId === first && attempt === 1) throw new Error('the first attempt fails')
    })
    await cluster.start()
    await cluster.advance(5 * minuteMs)
    // Its turn comes when the run that began meanwhile has ended: before the slots that are younger.
    expect(since(cluster.runs('job')).slice(0, 3)).toEqual([['scheduled', 20_000, 20_000], ['scheduled', 40_000, 41_000], ['retry', 20_000, 62_000]])
    expect(cluster.ledger('job')[0]).toMatchObject({ state: 'succeeded', attempt: 2 })
    await cluster.stop()
  })

  test.each([['queue-one', 'run-once'], ['skip', 'run-all']] as const)('P6: that backs off leaves the gate to the slot that waits, at once (overlap %s, misfire %s)', async (overlap, misfire) => {
    const cluster = withTask(1, { everyMs: minuteMs, overlap, misfire, retry: { max: 1, backoffMs: 5 * minuteMs } }, async ({ fireTime, attempt }, node) => {
      await node.sleep(70_000)
      if (attempt === 1 && fireTime.getTime() === begin + minuteMs) throw new Error('the first attempt fails')
    }, 30_000)
    await cluster.start()
    await cluster.advance(3 * minuteMs)
    expect(since(cluster.runs('job'))).toEqual([['scheduled', minuteMs, minuteMs], ['scheduled', 2 * minuteMs, 130_000]])
    await cluster.stop()
  })
})

describe('a backlog of run-all', () => {
  test('P6: is bounded by count: the newest slots wait, the older ones are missed and say why', async () => {
    const cluster = withTask(2, { everyMs: 1000, misfire: 'run-all', runAll: { max: 5 } }, (_, node) => node.sleep(3000), 1000)
    await cluster.start()
    await cluster.advance(2 * minuteMs)
    const last = cluster.runs('job').at(-1) as Run
    expect(last.startedAt - last.fireTime.getTime()).toBeLessThan(8000)
    const rows = cluster.ledger('job')
    expect(rows.filter(({ state }) => state === 'pending').length).toBeLessThanOrEqual(6)
    const missed = rows.filter(({ state }) => state === 'missed')
    expect(missed.length).toBeGreaterThan(60)
    expect(new Set(missed.map(({ errorCode }) => errorCode))).toEqual(new Set(['backlog']))
    expect(cluster.nodes.flatMap((node) => node.events('slot.missed')).reduce((sum, { count }) => sum + count, 0)).toBe(missed.length)
    // In order, whatever went.
    const fireTimes = cluster.runs('job').map(({ fireTime }) => fireTime.getTime())
    expect(fireTimes).toEqual(fireTimes.toSorted((a, b) => a - b))
    await cluster.stop()
  })

  test('P6: is bounded by age', async () => {
    const cluster = withTask(1, { everyMs: 1000, misfire: 'run-all', runAll: { maxAgeMs: 20_000 } }, (_, node) => node.sleep(3000), 1000)
    await cluster.start()
    await cluster.advance(2 * minuteMs)
    const lateMs = cluster.runs('job').map(({ startedAt, fireTime }) => startedAt - fireTime.getTime())
    expect(Math.max(...lateMs)).toBeLessThan(20_500)
    expect(Math.max(...lateMs)).toBeGreaterThan(15_000)
    expect(cluster.ledger('job').filter(({ errorCode }) => errorCode === 'backlog').length).toBeGreaterThan(50)
    await cluster.stop()
  })

  test('P12: does not cost statements by its length', async () => {
    const cluster = withTask(1, { everyMs: minuteMs, misfire: 'run-all' }, (_, node) => node.sleep(50_000))
    await cluster.start()
    await cluster.advance(minuteMs + 1000)
    await cluster.clock.until((cluster.nodes[0] as (typeof cluster.nodes)[0]).stop())
    await cluster.advance(90 * minuteMs)
    for (let index = 0; index < 3; index += 1) cluster.add()
    await cluster.start()
    await cluster.advance(30_000)
    expect(cluster.ledger('job').filter(({ state }) => state === 'pending').length).toBeGreaterThan(80)
    let statements = 0
    cluster.faults.before(({ purpose }) => { statements += purpose === 'store' ? 1 : 0; return false }, { kind: 'delay', when: 'before-send', ms: 0 })
    await cluster.advance(minuteMs)
    // One look per node and heartbeat, and what a run and a slot need.
    expect(statements).toBeLessThan(100)
    await cluster.stop()
  })
})

describe('what waits for the gate under overlap skip', () => {
  test('P6: the slot that is caught up runs after the older one that was recovered', async () => {
    const cluster = withTask(1, { cron: '5 3 * * *' }, (_, node) => node.sleep(10 * minuteMs))
    await cluster.start()
    await cluster.advance(6 * minuteMs)
    cluster.nodes[0]?.kill()
    await cluster.advanceTo('2030-01-08T10:00:00Z')
    cluster.add()
    await cluster.start()
    await cluster.advance(30 * minuteMs)
    expect(cluster.ledger('job').map(({ fireTime, state, origin }) => [fireTime.toISOString().slice(8, 10), state, origin])).toEqual([
      ['05', 'succeeded', 'scheduled'], ['07', 'missed', 'scheduled'], ['08', 'succeeded', 'catchup'],
    ])
    const [, recovered, caughtUp] = cluster.runs('job')
    expect([recovered?.reason, caughtUp?.reason]).toEqual(['recovered', 'catchup'])
    expect((caughtUp?.startedAt ?? 0) - (recovered?.endedAt ?? 0)).toBeLessThan(1000)
    await cluster.stop()
  })

  test('P6: of several slots that are caught up the latest waits, the older ones are superseded', async () => {
    // A node without a free worker leaves its slots to the scan.
    const cluster = virtualNodes(1, {
      startAt: begin, scheduler: { leaseMs: 3000, heartbeatMs: 1000, concurrency: 1, full: 'discard', maxQueued: 0 },
      tasks: (node) => { node.task('job', { everyMs: 10_000 }, ({ fireTime }) => node.sleep(fireTime.getTime() === begin + 10_000 ? 35_000 : 1000)) },
    })
    await cluster.start()
    await cluster.advance(49_000)
    expect(states(cluster)).toEqual([[10_000, 'succeeded', null], [20_000, 'skipped', 'superseded'], [30_000, 'skipped', 'superseded'], [40_000, 'succeeded', null]])
    expect(since(cluster.runs('job')).at(-1)).toEqual(['catchup', 40_000, 45_000])
    await cluster.stop()
  })

  test('P2: what a person triggers runs when the run before has ended, and its key stands for that run', async () => {
    const cluster = withTask(2, { everyMs: 10 * minuteMs }, (_, node) => node.sleep(100_000))
    await cluster.start()
    await cluster.advance(10 * minuteMs + 10_000)
    const operator = (cluster.nodes[1] as (typeof cluster.nodes)[0]).scheduler
    const { executionId, created } = await cluster.clock.until(operator.trigger('job', { key: 'once' }))
    expect(created).toBe(true)
    await cluster.advance(30_000)
    expect(cluster.ledger('job').find((row) => row.executionId === executionId)?.state).toBe('pending')
    await cluster.advance(3 * minuteMs)
    expect(since(cluster.runs('job'))).toEqual([['scheduled', 600_000, 600_000], ['manual', expect.any(Number) as number, 700_000]])
    expect(await cluster.clock.until(operator.trigger('job', { key: 'once' }))).toEqual({ executionId, created: false })
    expect(cluster.ledger('job').find((row) => row.executionId === executionId)?.state).toBe('succeeded')
    await cluster.stop()
  })

  test('P2: what a person triggers on a paused task waits for its turn too, and nothing else of the task starts', async () => {
    const cluster = withTask(1, { everyMs: minuteMs, overlap: 'queue-one' }, (_, node) => node.sleep(100_000))
    await cluster.start()
    await cluster.advance(2 * minuteMs + 10_000)
    const { scheduler } = cluster.nodes[0] as (typeof cluster.nodes)[0]
    await cluster.clock.until(scheduler.pause('job'))
    await cluster.clock.until(scheduler.trigger('job'))
    await cluster.advance(5 * minuteMs)
    expect(since(cluster.runs('job')).map(([reason, , startedAt]) => [reason, startedAt])).toEqual([['scheduled', minuteMs], ['manual', 160_000]])
    expect(states(cluster).map(([, state]) => state)).toEqual(['succeeded', 'pending', 'succeeded'])
    await cluster.stop()
  })
})

test('P1: a manual run queues beside the slot of queue-one that waits, and does not take its place', async () => {
  const cluster = withTask(2, { everyMs: minuteMs, overlap: 'queue-one' }, (_, node) => node.sleep(90_000))
  await cluster.start()
  await cluster.advance(2 * minuteMs + 1000)
  await cluster.clock.until((cluster.nodes[0] as (typeof cluster.nodes)[0]).scheduler.trigger('job'))
  await cluster.advance(4 * minuteMs)
  expect(since(cluster.runs('job')).map(([reason, , startedAt]) => [reason, startedAt])).toEqual([['scheduled', minuteMs], ['scheduled', 150_000], ['manual', 240_000], ['scheduled', 330_000]])
  expect(states(cluster).slice(0, 5).map(([, state, code]) => [state, code])).toEqual([['succeeded', null], ['succeeded', null], ['succeeded', null], ['skipped', 'superseded'], ['skipped', 'superseded']])
  await cluster.stop()
})

test('P2: with cancel-previous a slot that waits goes before an older retry', async () => {
  const cluster = withTask(1, { everyMs: minuteMs, overlap: 'cancel-previous', retry: { max: 1, backoffMs: 57_000 } }, async ({ fireTime, signal }, node) => {
    if (fireTime.getTime() === begin + minuteMs) {
      await node.sleep(4000)
      throw new Error('the first attempt fails')
    }
    // Ends when it is cancelled, not before.
    await node.sleep(fireTime.getTime() === begin + 2 * minuteMs ? 10 * minuteMs : 1000, signal)
  })
  await cluster.start()
  await cluster.advance(4 * minuteMs - 5000)
  expect(since(cluster.runs('job')).map(([reason, fireTime]) => [reason, fireTime])).toEqual([['scheduled', minuteMs], ['scheduled', 2 * minuteMs], ['scheduled', 3 * minuteMs], ['retry', minuteMs]])
  await cluster.stop()
})

test('P2: with cancel-previous a manual run waits for the later slot that came before its turn', async () => {
  // The first run needs a while to obey.
  const cluster = withTask(1, { everyMs: minuteMs, overlap: 'cancel-previous' }, ({ fireTime }, node) => node.sleep(fireTime.getTime() === begin + minuteMs ? 65_000 : 30_000))
  await cluster.start()
  await cluster.advance(2 * minuteMs - 5000)
  await cluster.clock.until((cluster.nodes[0] as (typeof cluster.nodes)[0]).scheduler.trigger('job'))
  await cluster.advance(minuteMs)
  expect(since(cluster.runs('job')).map(([reason, , startedAt]) => [reason, startedAt])).toEqual([['scheduled', minuteMs], ['scheduled', 125_000], ['manual', 155_000]])
  await cluster.stop()
})

test.each([-2, 0, 2, 4, 6])('P2: with cancel-previous a slot that is due when the run before it ends (by %i ms) is not cancelled by itself', async (offMs) => {
  const cluster = withTask(1, { everyMs: minuteMs, overlap: 'cancel-previous' }, ({ fireTime, signal }, node) => node.sleep(fireTime.getTime() === begin + minuteMs ? minuteMs + offMs : 5000, signal))
  cluster.faults.before(({ purpose }) => purpose === 'store', delay(3), { times: Infinity })
  await cluster.start()
  await cluster.advance(2 * minuteMs + 30_000)
  expect(states(cluster)[1]).toEqual([2 * minuteMs, 'succeeded', null])
  await cluster.stop()
})

test('P6: of more slots than a page shows the latest runs, and all others are superseded', async () => {
  // For a while nothing starts, and what the scan catches up piles up.
  const cluster = virtualNodes(1, {
    startAt: begin, scheduler: { leaseMs: 30_000, heartbeatMs: 10_000, concurrency: 1, full: 'discard', maxQueued: 0 },
    tasks: (node) => { node.task('job', { everyMs: 10_000 }, () => undefined).task('hog', { cron: '30 0 3 * * *' }, () => node.sleep(40 * minuteMs)) },
  })
  await cluster.start()
  await cluster.advance(40 * minuteMs)
  expect(cluster.ledger('job').filter(({ state }) => state === 'pending').length).toBeGreaterThan(200)
  await cluster.advance(minuteMs)
  const runs = cluster.runs('job').filter(({ reason }) => reason === 'catchup')
  expect(runs).toHaveLength(1)
  const latest = Math.max(...cluster.ledger('job').filter(({ origin }) => origin === 'catchup').map(({ fireTime }) => fireTime.getTime()))
  expect(runs[0]?.fireTime.getTime()).toBe(latest)
  await cluster.stop()
})

describe('a start that is refused because the row of the task was locked for another reason than a run', () => {
  test('P6: is tried again at once when its slot waits', async () => {
    const cluster = withTask(1, { everyMs: minuteMs, overlap: 'queue-one' }, () => undefined)
    await cluster.start()
    cluster.faults.before('start gate', fail('lock-timeout'))
    await cluster.advance(minuteMs + 1000)
    expect(since(cluster.runs('job'))).toEqual([['scheduled', minuteMs, minuteMs]])
    await cluster.stop()
  })

  test('P6: does not end what a person triggered', async () => {
    const cluster = withTask(1, { everyMs: 10 * minuteMs }, () => undefined)
    await cluster.start()
    await cluster.advance(minuteMs)
    cluster.faults.before('start gate', fail('lock-timeout'))
    await cluster.clock.until((cluster.nodes[0] as (typeof cluster.nodes)[0]).scheduler.trigger('job'))
    await cluster.advance(1000)
    expect(cluster.ledger('job')).toMatchObject([{ origin: 'manual', state: 'succeeded' }])
    await cluster.stop()
  })
})

test('P6: run-all with overlap allow is drained oldest first', async () => {
  const cluster = withTask(1, { everyMs: minuteMs, overlap: 'allow', misfire: 'run-all' }, (_, node) => node.sleep(10_000))
  await cluster.start()
  await cluster.advance(61_000 + 10_000)
  await cluster.clock.until((cluster.nodes[0] as (typeof cluster.nodes)[0]).stop())
  await cluster.advance(15 * minuteMs)
  cluster.add()
  await cluster.start()
  await cluster.advance(30_000)
  const caughtUp = cluster.runs('job').filter(({ reason }) => reason === 'catchup').map(({ fireTime }) => fireTime.getTime() - begin)
  expect(caughtUp.length).toBeGreaterThanOrEqual(15)
  expect(caughtUp).toEqual(caughtUp.toSorted((a, b) => a - b))
  await cluster.stop()
})
