import { describe, expect, test, vi } from 'vitest'
import { virtualNodes, type VirtualNode, type VirtualNodes, type VirtualSchedulerOptions } from '../../src/testing/index.ts'

// Hours of virtual time keep a core busy.
vi.setConfig({ testTimeout: 60_000 })

const begin = Date.UTC(2030, 0, 1)

/** Nodes with one worker; `hog` takes it at second 10 for a while. */
function oneWorker(count: number, options: VirtualSchedulerOptions, hogMs: number, tasks: (node: VirtualNode) => void): VirtualNodes {
  return virtualNodes(count, {
    startAt: begin, scheduler: { leaseMs: 6000, heartbeatMs: 2000, concurrency: 1, ...options },
    tasks: (node) => { tasks(node.task('hog', { cron: '10 0 0 * * *' }, () => node.sleep(hogMs))) },
  })
}

const order = (cluster: VirtualNodes): string[] => cluster.runs().map(({ task, reason }) => `${task} ${reason}`)
const left = (node: VirtualNode | undefined): string[] => (node?.events('slot.left') ?? []).map(({ task, error }) => `${task} ${error.code}`)

describe('a node without a free worker', () => {
  test('P6: gives the next one to the task of the highest priority, then to whoever came first', async () => {
    const cluster = oneWorker(1, {}, 2500, (node) => {
      node.task('low', { cron: '11 0 0 * * *', priority: -1 }, () => node.sleep(100)).task('normal', { cron: '11 0 0 * * *' }, () => node.sleep(100))
        .task('later', { cron: '12 0 0 * * *' }, () => node.sleep(100)).task('high', { cron: '12 0 0 * * *', priority: 5 }, () => node.sleep(100))
    })
    await cluster.start()
    await cluster.advance(20_000)
    expect(order(cluster)).toEqual(['hog scheduled', 'high scheduled', 'normal scheduled', 'later scheduled', 'low scheduled'])
    await cluster.stop()
  })

  test('P6: with abort stands aside, says so as an error, and catches the slot up when nobody else has run it', async () => {
    const cluster = oneWorker(1, { full: 'abort', maxQueued: 0 }, 9000, (node) => { node.task('job', { cron: '11 0 0 * * *' }, () => undefined) })
    await cluster.start()
    await cluster.advance(30_000)
    const [node] = cluster.nodes
    expect(left(node)).toContain('job SCHED_WORKERS_BUSY')
    expect(node?.errors).toContainEqual(expect.objectContaining({ code: 'SCHED_WORKERS_BUSY' }))
    expect(order(cluster)).toEqual(['hog scheduled', 'job catchup'])
    await cluster.stop()
  })

  test('P1: with discard leaves its slots to an idle node, which runs each in time', async () => {
    const cluster = oneWorker(2, { full: 'discard', maxQueued: 0 }, 6500, (node) => { node.task('job', { everyMs: 1000 }, () => node.sleep(10)) })
    await cluster.start()
    await cluster.advance(15_500)
    const hog = cluster.runs('hog')[0]?.node
    const [busy, idle] = [cluster.nodes.find(({ name }) => name === hog), cluster.nodes.find(({ name }) => name !== hog)]
    expect(left(busy).length).toBeGreaterThanOrEqual(5)
    expect(busy?.errors).toEqual([])
    const meanwhile = cluster.runs('job').filter(({ fireTime }) => fireTime.getTime() > begin + 10_000)
    expect(meanwhile.map(({ fireTime }) => fireTime.getTime() - begin)).toEqual([11_000, 12_000, 13_000, 14_000, 15_000])
    expect(meanwhile.every(({ node, startedAt, fireTime }) => node === idle?.name && startedAt - fireTime.getTime() < 100)).toBe(true)
    await cluster.stop()
  })

  test('P6: gives it back between the runs of a queue to whoever has waited, and the queue goes on after it', async () => {
    const cluster = virtualNodes(1, {
      startAt: begin, scheduler: { leaseMs: 30_000, heartbeatMs: 10_000, concurrency: 1 },
      tasks: (node) => {
        node.task('backlog', { everyMs: 60_000, misfire: 'run-all' }, () => node.sleep(50_000))
          .task('urgent', { cron: '*/10 * * * *', priority: 100 }, () => node.sleep(100)).task('modest', { cron: '*/10 * * * *', priority: -1 }, () => node.sleep(100))
      },
    })
    await cluster.start()
    await cluster.advance(90_000)
    await cluster.clock.until((cluster.nodes[0] as VirtualNode).stop())
    await cluster.advanceTo(new Date(begin + 58 * 60_000))
    cluster.add()
    await cluster.start()
    await cluster.advance(25 * 60_000)
    const urgent = cluster.runs('urgent').filter(({ fireTime }) => fireTime.getTime() >= begin + 3_600_000)
    expect(urgent).toHaveLength(3)
    // Two runs of the queue at most: too late for its claim after the first, it is caught up after the second.
    for (const { fireTime, startedAt } of urgent) expect(startedAt - fireTime.getTime()).toBeLessThan(120_000)
    expect(cluster.ledger('urgent').some(({ state, fireTime }) => state === 'missed' && fireTime.getTime() >= begin + 3_600_000)).toBe(false)
    // Whoever is less urgent than the queue waits for its end.
    expect(cluster.runs('modest').filter(({ fireTime }) => fireTime.getTime() >= begin + 3_600_000)).toEqual([])
    // Without a gap: all the time that nobody else had.
    const busyMs = cluster.runs('backlog').filter(({ startedAt }) => startedAt > begin + 58 * 60_000).length * 50_000
    expect(busyMs).toBeGreaterThan(24 * 60_000)
    await cluster.stop()
  })

  test('P12: lets claims of a task wait only as long as they are in time', async () => {
    const cluster = oneWorker(1, {}, 600_000, (node) => { node.task('job', { everyMs: 1000, overlap: 'allow' }, () => undefined) })
    const waiting: number[] = []
    cluster.nodes[0]?.scheduler.on('heartbeat', ({ workers }) => { waiting.push(workers.waiting) })
    await cluster.start()
    await cluster.advance(600_000)
    expect(waiting.length).toBeGreaterThan(100)
    expect(Math.max(...waiting)).toBeLessThan(10)
    await cluster.advance(20_000)
    // What came too late is the scan's: one of it runs.
    expect(cluster.runs('job').filter(({ reason }) => reason === 'catchup')).toHaveLength(1)
    expect(cluster.runs('job').at(-1)?.fireTime.getTime()).toBe(begin + 620_000)
    await cluster.stop()
  })

  test('P6: with discard-oldest turns away whoever has waited longest, and catches that slot up later', async () => {
    const cluster = oneWorker(1, { full: 'discard-oldest', maxQueued: 1 }, 2500, (node) => {
      node.task('first', { cron: '11 0 0 * * *' }, () => undefined).task('second', { cron: '12 0 0 * * *' }, () => undefined)
    })
    await cluster.start()
    await cluster.advance(20_000)
    expect(left(cluster.nodes[0])).toEqual(['first SCHED_WORKERS_BUSY'])
    expect(order(cluster)).toEqual(['hog scheduled', 'second scheduled', 'first catchup'])
    await cluster.stop()
  })
})
