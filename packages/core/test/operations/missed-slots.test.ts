import { expect, it, onTestFinished } from 'vitest'
import type { TaskOptions } from '../../src/executor/task-definition.ts'
import { delay, fail, kill, virtualNodes, type VirtualNodes, type VirtualNodesOptions } from '../../src/testing/index.ts'

const scheduler = { leaseMs: 30_000, heartbeatMs: 10_000 }
/** For weeks that are to pass quickly. */
const slow = { leaseMs: 3_600_000, heartbeatMs: 600_000 }

function daily(options: TaskOptions, more: Partial<VirtualNodesOptions> = {}): VirtualNodes {
  return virtualNodes(1, { startAt: '2030-01-05T02:50:00Z', scheduler, tasks: (node) => { node.task('job', { cron: '0 3 * * *', ...options }, () => {}) }, ...more })
}

/** Nobody is there from one instant to the other; then a node boots. */
async function away(cluster: VirtualNodes, from: string, to: string): Promise<void> {
  await cluster.advanceTo(from)
  for (const node of cluster.nodes) if (node.alive) await cluster.clock.until(node.stop())
  await cluster.advanceTo(to)
  cluster.add()
  await cluster.start()
  await cluster.advance(60_000)
}

const slots = (cluster: VirtualNodes): string[] => cluster.ledger('job').map(({ fireTime, state, origin, missedCount }) =>
  `${fireTime.toISOString().slice(0, 16)} ${state} ${origin}${missedCount === null ? '' : ` ${missedCount}`}`)

async function stateOf(cluster: VirtualNodes): Promise<string | undefined> {
  return (await cluster.clock.until(cluster.nodes.at(-1)!.scheduler.tasks())).find(({ name }) => name === 'job')?.state
}

it('P6: run-all settles its catch-ups on a slow link, in less time than one statement may take for each', async () => {
  const cluster = virtualNodes(1, {
    startAt: '2030-01-05T00:00:00Z', database: { latencyMs: 5 }, scheduler: { leaseMs: 6000, heartbeatMs: 1000 },
    tasks: (node) => { node.task('job', { everyMs: 20_000, misfire: 'run-all', runAll: { max: 600 } }, () => {}) },
  })
  await cluster.start()
  await cluster.advance(21_000)
  await cluster.clock.until(cluster.nodes[0]!.stop())
  await cluster.advance(6 * 3_600_000)
  const node = cluster.add()
  await cluster.start()
  await cluster.advance(5_000)
  const errors = node.events('error').map(({ error }) => error.message)
  expect(errors).toEqual([])
  expect(node.events('slot.missed').map(({ count, caughtUp }) => [count, caughtUp !== undefined])).toEqual([[480, true], [0, true]])
  expect(cluster.ledger('job').filter(({ origin }) => origin === 'catchup')).toHaveLength(600)
}, 30_000)

it('P6: run-once runs the latest missed slot however late, when nothing later has run', async () => {
  const cluster = daily({ cron: '0 3 * * 0' }, { scheduler: slow })
  await cluster.start()
  await away(cluster, '2030-01-05T12:00:00Z', '2030-01-21T12:00:00Z')
  expect(slots(cluster)).toEqual(['2030-01-13T03:00 missed scheduled 2', '2030-01-20T03:00 succeeded catchup'])
  await cluster.stop()
})

it('P1: run-once does not run again what may have run and been deleted since', async () => {
  const cluster = daily({ cron: '0 3 * * 0' }, { scheduler: { ...slow, retentionMs: Infinity } })
  await cluster.start()
  await cluster.advanceTo('2030-01-20T02:00:00Z')
  // As retention does, which goes by the end of a slot too: an older one may stay.
  cluster.database.query(`DELETE FROM sched_executions WHERE fire_time = ${Date.UTC(2030, 0, 13, 3)}`)
  await away(cluster, '2030-01-20T04:00:00Z', '2030-01-20T05:00:00Z')
  expect(slots(cluster)).toEqual(['2030-01-06T03:00 succeeded scheduled', '2030-01-13T03:00 missed scheduled 1', '2030-01-20T03:00 succeeded scheduled'])
  expect(cluster.runs('job').map(({ fireTime }) => fireTime.toISOString().slice(0, 10))).toEqual(['2030-01-06', '2030-01-13', '2030-01-20'])
  await cluster.stop()
})

it('P6: stall runs the one slot that a restart has missed, inside the catch-up window', async () => {
  const cluster = daily({ misfire: 'stall' })
  await cluster.start()
  await away(cluster, '2030-01-05T02:59:50Z', '2030-01-05T03:00:10Z')
  expect(slots(cluster)).toEqual(['2030-01-05T03:00 succeeded catchup'])
  expect(await stateOf(cluster)).toBe('active')
  await cluster.stop()
})

it.each([
  ['a slot outside the catch-up window', '2030-01-05T15:30:00Z', ['2030-01-05T03:00 missed scheduled 1']],
  ['more than one slot', '2030-01-06T03:00:10Z', ['2030-01-06T03:00 missed scheduled 2']],
])('P6: stall waits for a person when %s was missed', async (_, back, expected) => {
  const cluster = daily({ misfire: 'stall' })
  await cluster.start()
  await away(cluster, '2030-01-05T02:59:50Z', back)
  expect(slots(cluster)).toEqual(expected)
  expect(await stateOf(cluster)).toBe('stalled')
  await cluster.stop()
})

/** The node that claims 03:00 dies before it starts it, and nobody is there until `back`. */
async function orphaned(options: TaskOptions, back: string): Promise<VirtualNodes> {
  const cluster = daily(options)
  await cluster.start()
  cluster.faults.before('start', kill('before-send'))
  await cluster.advanceTo('2030-01-05T03:00:01Z')
  expect(slots(cluster)).toEqual(['2030-01-05T03:00 pending scheduled'])
  await cluster.advanceTo(back)
  cluster.add()
  await cluster.start()
  await cluster.advance(60_000)
  return cluster
}

it.each([
  ['skip', { misfire: 'skip', catchUpWindowMs: 3_600_000 }, '2030-01-05T03:30:00Z', ['2030-01-05T03:00 succeeded catchup'], 'active'],
  ['skip', { misfire: 'skip', catchUpWindowMs: 3_600_000 }, '2030-01-05T12:00:00Z', ['2030-01-05T03:00 missed scheduled'], 'active'],
  ['stall', { misfire: 'stall' }, '2030-01-05T12:00:00Z', ['2030-01-05T03:00 succeeded catchup'], 'active'],
  ['stall', { misfire: 'stall' }, '2030-01-05T22:00:00Z', ['2030-01-05T03:00 missed scheduled'], 'stalled'],
  ['skip', { misfire: 'skip', overlap: 'queue-one' }, '2030-01-05T12:00:00Z', ['2030-01-05T03:00 succeeded scheduled'], 'active'],
  ['skip', { misfire: 'skip', overlap: 'queue-one' }, '2030-01-05T22:00:00Z', ['2030-01-05T03:00 missed scheduled'], 'active'],
  ['stall', { misfire: 'stall', overlap: 'queue-one' }, '2030-01-05T22:00:00Z', ['2030-01-05T03:00 missed scheduled'], 'stalled'],
  ['skip', { misfire: 'skip', overlap: 'cancel-previous' }, '2030-01-08T02:00:00Z', ['2030-01-05T03:00 missed scheduled', '2030-01-07T03:00 missed scheduled 2'], 'active'],
  ['run-once', {}, '2030-01-06T01:00:00Z', ['2030-01-05T03:00 succeeded catchup'], 'active'],
  ['run-once', {}, '2030-01-08T10:00:00Z', ['2030-01-05T03:00 missed scheduled', '2030-01-07T03:00 missed scheduled 2', '2030-01-08T03:00 succeeded catchup'], 'active'],
] as const)('P6: a slot that was claimed and never started is missed under %s, %j, found at %s', async (_, options, back, expected, state) => {
  const cluster = await orphaned(options, back)
  expect(slots(cluster)).toEqual(expected)
  expect(await stateOf(cluster)).toBe(state)
  expect(cluster.nodes.at(-1)!.errors).toEqual([])
  await cluster.stop()
})

it('P6: a slot whose claimer died before the start runs within two heartbeats on another node', async () => {
  const cluster = virtualNodes(2, { startAt: '2030-01-05T02:50:00Z', scheduler, tasks: (node) => { node.task('job', { cron: '0 3 * * *' }, () => {}) } })
  await cluster.start()
  cluster.faults.before('start', kill('before-send'))
  await cluster.advanceTo('2030-01-05T03:00:01Z')
  await cluster.advance(2 * scheduler.heartbeatMs)
  expect(slots(cluster)).toEqual(['2030-01-05T03:00 succeeded catchup'])
  await cluster.stop()
})

it('P6: a slot that waits in its task\'s queue is nobody\'s orphan', async () => {
  const cluster = virtualNodes(2, { startAt: '2030-01-05T02:50:00Z', scheduler, tasks: (node) => { node.task('job', { everyMs: 60_000, overlap: 'queue-one', misfire: 'skip', catchUpWindowMs: 0 }, () => node.sleep(115_000)) } })
  await cluster.start()
  await cluster.advanceTo('2030-01-05T02:53:30Z')
  expect(slots(cluster)).toEqual(['2030-01-05T02:51 succeeded scheduled', '2030-01-05T02:52 running scheduled', '2030-01-05T02:53 pending scheduled'])
  await cluster.stop()
})

it('P6: one task whose row somebody holds does not keep the scan from the tasks behind it, and is settled when the row is free', async () => {
  const cluster = virtualNodes(1, { startAt: '2030-01-05T03:00:00Z', scheduler, tasks: (node) => { for (const name of ['a', 'b', 'c']) node.task(name, { cron: '5 3 * * *' }, () => undefined) } })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  await cluster.advance(60_000)
  await cluster.clock.until(cluster.nodes[0]!.stop())
  await cluster.advance(3 * 3_600_000)
  // The first task of each round, however often it is tried.
  let scans = 0
  const held = cluster.faults.before(({ text }) => {
    if (text.startsWith('SELECT task_name, definition_hash')) scans = 0
    if (text.includes('AS older')) scans += 1
    return scans === 1 && text.startsWith('SELECT armed_from FROM')
  }, fail('lock-timeout'), { times: Infinity })
  const node = cluster.add()
  await cluster.start()
  await cluster.advance(60_000)
  const ran = (): string[] => cluster.runs().map(({ task }) => task).sort()
  expect(ran()).toEqual(['b', 'c'])
  expect(new Set(node.events('error').map(({ where }) => where))).toEqual(new Set(['settling missed slots of a']))
  // Once per heartbeat, and not for as long as a statement may take.
  expect(held.hits).toBe(node.events('error').length)
  expect(held.hits).toBeGreaterThan(2)
  expect(held.hits).toBeLessThan(8)
  cluster.faults.clear()
  await cluster.advance(30_000)
  expect(ran()).toEqual(['a', 'b', 'c'])
})

it('P12: a heartbeat that failed costs two statements per task that has fired, where nothing was missed', async () => {
  const tasks = 50
  const cluster = virtualNodes(1, { startAt: '2030-01-05T03:00:00Z', scheduler: { ...scheduler, concurrency: tasks }, tasks: (node) => { for (let index = 0; index < tasks; index += 1) node.task(`t${index}`, { everyMs: 300_000 }, () => undefined) } })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  await cluster.advance(10 * 60_000 + 30_000)
  let statements = 0
  cluster.faults.before(({ purpose }) => {
    if (purpose === 'store') statements += 1
    return false
  }, delay(0), { times: Infinity })
  await cluster.advance(25_000)
  const idle = statements
  cluster.faults.before('heartbeat', fail('unknown'))
  await cluster.advance(25_000)
  expect(statements - 2 * idle).toBeGreaterThan(tasks)
  expect(statements - 2 * idle).toBeLessThan(2 * tasks + 10)
})

it('P1: a scan that finds nothing moves armed_from where the next would have much to read again', async () => {
  const cluster = virtualNodes(1, { startAt: '2030-01-05T03:00:00Z', scheduler, tasks: (node) => { node.task('job', { everyMs: 1_000 }, () => undefined) } })
  onTestFinished(() => cluster.stop())
  await cluster.start()
  const armedFrom = (): number => Number(cluster.database.query('SELECT armed_from FROM sched_tasks')[0]?.['armed_from'])
  const before = armedFrom()
  await cluster.advance(1_500_000)
  cluster.faults.before('heartbeat', fail('unknown'))
  await cluster.advance(30_000)
  expect(armedFrom()).toBe(before)
  await cluster.advance(1_000_000)
  cluster.faults.before('heartbeat', fail('unknown'))
  await cluster.advance(30_000)
  expect(armedFrom()).toBeGreaterThan(cluster.clock.worldMs() - 60_000)
  expect(cluster.ledger('job').filter(({ state }) => state !== 'succeeded')).toEqual([])
}, 30_000)

it('P12: a task whose row is gone is registered anew, not looked at again and again', async () => {
  const cluster = virtualNodes(1, {
    startAt: '2030-01-05T03:00:00Z', scheduler: { ...scheduler, full: 'discard', maxQueued: 0, concurrency: 1 },
    tasks: (node) => { node.task('job', { everyMs: 60_000 }, () => {}).task('hog', { cron: '30 0 3 * * *' }, () => node.sleep(150_000)) },
  })
  await cluster.start()
  await cluster.advance(45_000)
  cluster.database.query(`DELETE FROM sched_tasks WHERE task_name = 'job'`)
  let statements = 0
  cluster.faults.before(({ purpose }) => {
    statements += purpose === 'store' ? 1 : 0
    if (statements > 2000) throw new Error('it spins')
    return false
  }, kill('before-send'))
  await cluster.advance(3 * 60_000)
  expect(statements).toBeLessThan(100)
  expect(cluster.runs('job').map(({ outcome }) => outcome)).toContain('returned')
  await cluster.stop()
})
