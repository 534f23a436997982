import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { isSchedError } from '../../src/errors.ts'
import { onFinalFailure, type FinalFailure } from '../../src/telemetry/final-failure.ts'
import { observeScheduler } from '../../src/telemetry/observe-scheduler.ts'
import { virtualNodes, type VirtualNode } from '../../src/testing/index.ts'
import { ObservedNode, behindItsBack, valueOf } from './observed-node.ts'

/** What would reach the process as a warning. */
function warnings(): unknown[] {
  const heard: unknown[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning: unknown) => { heard.push(warning) })
  onTestFinished(() => { spy.mockRestore() })
  return heard
}

describe('the hook on a final failure', { timeout: 90_000 }, () => {
  it('is called once per execution that failed for good: not for a retry, for the last attempt, for a crash that is not tried again', async () => {
    const node = new ObservedNode()
    const failures: FinalFailure[] = []
    onFinalFailure(node.scheduler, (failure) => failures.push(failure))
    node.scheduler.task('bad', { cron: '@yearly', retry: { max: 1, backoffMs: 10 } }, () => { throw new Error('told to fail') })
    node.scheduler.task('flaky', { cron: '@yearly', retry: { max: 1, backoffMs: 10 } }, ({ attempt }) => { if (attempt === 1) throw new Error('once') })
    node.scheduler.task('killed', { cron: '@yearly', recovery: 'fail' }, ({ signal }) => sleep(80_000, undefined, { signal }))
    await node.scheduler.start()
    for (const task of ['flaky', 'bad', 'killed']) await node.scheduler.trigger(task)
    await node.until('task_runs_total', { task_name: 'flaky', outcome: 'succeeded' })
    await node.until('task_runs_total', { task_name: 'bad', outcome: 'failed' })
    await node.until('task_starts_total', { task_name: 'killed' })
    behindItsBack(node.file).exec('UPDATE sched_nodes SET lease_until = 0')
    await node.until('task_recovered_total', { task_name: 'killed', state: 'failed' })
    expect(failures).toHaveLength(2)
    expect(failures[0]).toMatchObject({ task: 'bad', cause: 'attempt', attempt: 2, error: { message: 'told to fail' } })
    expect(failures[1]).toMatchObject({ task: 'killed', cause: 'crash', attempt: undefined, error: { code: 'SCHED_LEASE_LOST' } })
  })

  it('P6: an execution that kills its instances is told as poison: by the hook, by the event and in task_failed_total', async () => {
    const told: FinalFailure[] = []
    const registry = new Registry()
    const cluster = virtualNodes(4, { scheduler: { leaseMs: 6_000, heartbeatMs: 1_000 }, tasks: (node) => { node.task('bomb', { everyMs: 600_000 }, () => node.kill()) } })
    observeScheduler(cluster.nodes[3]!.scheduler, { registry })
    onFinalFailure(cluster.nodes[3]!.scheduler, (failure) => told.push(failure))
    // The last one comes when the others are dead.
    const last = cluster.nodes[3]!
    await cluster.clock.until(Promise.all(cluster.nodes.slice(0, 3).map((node) => node.start())))
    await cluster.advance(640_000)
    expect(cluster.nodes.map(({ alive }) => alive)).toEqual([false, false, false, true])
    await cluster.clock.until(last.start())
    await cluster.advance(10_000)
    expect(last.events('started')).toMatchObject([{ tasks: ['bomb'] }])
    const [row] = cluster.ledger('bomb')
    expect(row).toMatchObject({ state: 'failed', errorCode: 'SCHED_TASK_POISON', crashCount: 3 })
    expect(last.events('execution.recovered')).toEqual([expect.objectContaining({ state: 'failed', crashCount: 3, errorCode: 'SCHED_TASK_POISON' })])
    expect(told.map(({ task, cause, error }) => [task, cause, isSchedError(error, 'SCHED_TASK_POISON')])).toEqual([['bomb', 'crash', true]])
    expect(await valueOf(registry, 'task_failed_total', { task_name: 'bomb', code: 'SCHED_TASK_POISON' })).toBe(1)
    expect(await valueOf(registry, 'task_failed_total', { task_name: 'bomb', code: 'SCHED_LEASE_LOST' })).toBe(0)
    await cluster.stop()
  })

  it('P10: what is cancelled while it waits is told once, by the instance that cancelled it: before its first attempt and between two', async () => {
    const told: (readonly [string, string, boolean])[] = []
    const registry = new Registry()
    const cluster = virtualNodes(2, {
      startAt: '2030-01-01T00:00:30Z',
      tasks: (node) => {
        node.task('flaky', { everyMs: 60_000, retry: { max: 3, backoffMs: 3_600_000, maxBackoffMs: 3_600_000 } }, () => { throw new Error('told to fail') })
        node.task('queued', { everyMs: 60_000, overlap: 'queue-one' }, () => node.sleep(600_000))
      },
    })
    const [one, two] = cluster.nodes as [VirtualNode, VirtualNode]
    observeScheduler(one.scheduler, { registry })
    for (const node of [one, two]) onFinalFailure(node.scheduler, ({ task, cause, error }) => told.push([node.name, `${task} ${cause}`, isSchedError(error, 'SCHED_TASK_CANCELLED')]))
    await cluster.start()
    await cluster.advance(95_000)
    const waiting = [...cluster.ledger('flaky').filter(({ state }) => state === 'retry').slice(0, 1), ...cluster.ledger('queued').filter(({ state }) => state === 'pending')]
    expect(waiting.map(({ task }) => task)).toEqual(['flaky', 'queued'])
    for (const { executionId } of waiting) expect(await cluster.clock.until(one.scheduler.cancel(executionId))).toBe('cancelled')
    expect(await cluster.clock.until(one.scheduler.cancel(waiting[0]!.executionId))).toBe('ended')
    await cluster.advance(20_000)
    expect(one.events('execution.cancelled')).toEqual(waiting.map(({ task, executionId, fireTime }) => expect.objectContaining({ task, executionId, fireTime: fireTime.getTime() }) as unknown))
    expect(told).toEqual([[one.name, 'flaky cancelled', true], [one.name, 'queued cancelled', true]])
    for (const task_name of ['flaky', 'queued']) expect(await valueOf(registry, 'task_failed_total', { task_name, code: 'SCHED_TASK_CANCELLED' })).toBe(1)
    await cluster.stop()
  })

  it('P10: a hook that throws is an error event, one that rejects a process warning, and the schedule goes on', async () => {
    const heard = warnings()
    const node = new ObservedNode()
    const stopThrowing = onFinalFailure(node.scheduler, () => { throw new Error('the pager is down') })
    node.scheduler.task('bad', { cron: '@yearly' }, () => { throw new Error('told to fail') })
    await node.scheduler.start()
    await node.scheduler.trigger('bad')
    await node.until('scheduler_errors_total', { code: 'other' })
    expect(node.errors.map(({ message }) => message)).toEqual(['the pager is down'])
    stopThrowing()
    onFinalFailure(node.scheduler, () => Promise.reject(new Error('the mail server is down')))
    await node.scheduler.trigger('bad')
    await expect.poll(() => heard.map(String), { timeout: 10_000 }).toContain('Error: the mail server is down')
    expect(node.errors).toHaveLength(1)
  })
})
