import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { onFinalFailure, type FinalFailure } from '../../src/telemetry/final-failure.ts'
import { ObservedNode, behindItsBack } from './observed-node.ts'

/** What would reach the process as a warning. */
function warnings(): unknown[] {
  const heard: unknown[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning: unknown) => { heard.push(warning) })
  onTestFinished(() => { spy.mockRestore() })
  return heard
}

describe('the hook on a final failure', { timeout: 30_000 }, () => {
  it('is called once per execution that failed for good: not for a retry, for the last attempt, for a crash that is not tried again', async () => {
    const node = new ObservedNode()
    const failures: FinalFailure[] = []
    onFinalFailure(node.scheduler, (failure) => failures.push(failure))
    node.scheduler.task('bad', { cron: '@yearly', retry: { max: 1, backoffMs: 10 } }, () => { throw new Error('told to fail') })
    node.scheduler.task('flaky', { cron: '@yearly', retry: { max: 1, backoffMs: 10 } }, ({ attempt }) => { if (attempt === 1) throw new Error('once') })
    node.scheduler.task('killed', { cron: '@yearly', recovery: 'fail' }, ({ signal }) => sleep(20_000, undefined, { signal }))
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
