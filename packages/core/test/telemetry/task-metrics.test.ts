import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { TaskContext } from '../../src/executor/task-context.ts'
import { ObservedNode, behindItsBack, scratchFile, untilValue } from './observed-node.ts'

const untilAborted = ({ signal }: TaskContext): Promise<void> => sleep(80_000, undefined, { signal })

describe('what a task shows as metrics', { timeout: 90_000 }, () => {
  it('a success: task_starts_total, task_delay_seconds with its priority, task_runs_total, task_duration_seconds, task_last_success_timestamp_seconds', async () => {
    const node = new ObservedNode()
    node.scheduler.task('tick', { everyMs: 1_000, priority: 7 }, () => sleep(120))
    await node.scheduler.start()
    await node.until('task_runs_total', { task_name: 'tick', outcome: 'succeeded' })
    await node.until('task_starts_total', { task_name: 'tick', reason: 'scheduled' })
    const delays = { task_name: 'tick', priority: '7' }
    const [count, sum] = [await node.until('task_delay_seconds_count', delays), await node.value('task_delay_seconds_sum', delays) as number]
    expect(sum / count).toBeLessThan(3)
    expect(await node.value('task_duration_seconds_sum', { task_name: 'tick' })).toBeGreaterThan(0.1)
    await node.until('task_last_success_timestamp_seconds', { task_name: 'tick' }, (seconds) => Math.abs(Date.now() / 1000 - seconds) < 3)
    // The others are there with 0, so that their first increment is seen as one.
    for (const outcome of ['failed', 'retry', 'fenced', 'unfinished']) expect(await node.value('task_runs_total', { task_name: 'tick', outcome })).toBe(0)
  })

  it('task_delay_seconds counts what a task waited for beyond its jitter, of first starts alone', async () => {
    const node = new ObservedNode()
    node.scheduler.task('spread', { everyMs: 2_000, jitterMs: 1_500, retry: { max: 1, backoffMs: 1_500 } }, ({ attempt }) => { if (attempt === 1) throw new Error('told to fail') })
    await node.scheduler.start()
    await node.until('task_starts_total', { task_name: 'spread', reason: 'retry' })
    const readings = async (): Promise<number[]> => {
      const all = [['task_delay_seconds_count'], ['task_delay_seconds_sum'], ['task_starts_total', { reason: 'scheduled' }], ['task_starts_total', { reason: 'catchup' }]] as const
      return Promise.all(all.map(async ([name, labels = {}]) => await node.value(name, labels) ?? 0))
    }
    const [count, , scheduled, caughtUp] = await readings() as [number, number, number, number]
    expect(count).toBe(scheduled + caughtUp)
    // A start that the machine held up weighs less and less; the jitter would be in each.
    await expect.poll(async () => { const [starts, seconds] = await readings() as [number, number]; return seconds / starts }, { timeout: 30_000 }).toBeLessThan(0.5)
  })

  it('retries and a failure for good: task_retry_total with its reason, task_failed_total with its code', async () => {
    const node = new ObservedNode()
    node.scheduler.task('bad', { everyMs: 1_000, retry: { max: 1, backoffMs: 10 } }, () => { throw new Error('told to fail') })
    node.scheduler.task('slow', { everyMs: 1_000, timeoutMs: 50 }, untilAborted)
    await node.scheduler.start()
    await node.until('task_failed_total', { task_name: 'bad', code: 'SCHED_TASK_FAILED' })
    await node.until('task_failed_total', { task_name: 'slow', code: 'SCHED_TASK_TIMEOUT' })
    expect(await node.value('task_retry_total', { task_name: 'bad', reason: 'retry' })).toBeGreaterThanOrEqual(1)
    expect(await node.value('task_runs_total', { task_name: 'bad', outcome: 'retry' })).toBeGreaterThanOrEqual(1)
    expect(await node.value('task_runs_total', { task_name: 'bad', outcome: 'failed' })).toBeGreaterThanOrEqual(1)
    expect(await node.value('task_retry_total', { task_name: 'bad', reason: 'recovered' })).toBe(0)
  })

  it('a drain: task_retry_total with the reason interrupted', async () => {
    const node = new ObservedNode({ drainMs: 50 })
    node.scheduler.task('long', { everyMs: 1_000 }, untilAborted)
    await node.scheduler.start()
    await node.until('task_starts_total', { task_name: 'long' })
    await node.scheduler.stop()
    expect(await node.value('task_retry_total', { task_name: 'long', reason: 'interrupted' })).toBe(1)
  })

  it('fire times that did not run: task_skipped_total, task_left_total, task_missed_total, and the start that catches up', async () => {
    const file = scratchFile()
    const node = new ObservedNode({ file, concurrency: 1, full: 'discard', maxQueued: 0 })
    node.scheduler.task('long', { everyMs: 1_000 }, () => sleep(1_400))
    node.scheduler.task('crowded-out', { everyMs: 1_000 }, () => sleep(1_400))
    await node.scheduler.start()
    await node.until('task_left_total')
    await node.scheduler.stop()

    const roomy = new ObservedNode({ file })
    roomy.scheduler.task('long', { everyMs: 1_000 }, () => sleep(2_500)).task('crowded-out', { everyMs: 1_000 }, () => {})
    await sleep(3_200)
    await roomy.scheduler.start()
    await roomy.until('task_missed_total', { task_name: 'crowded-out' }, (count) => count >= 2)
    await roomy.until('task_starts_total', { task_name: 'crowded-out', reason: 'catchup' })
    await roomy.until('task_skipped_total', { task_name: 'long', reason: 'overlap' })
  })

  it('by hand: task_starts_total with the reason manual', async () => {
    const node = new ObservedNode()
    node.scheduler.task('yearly', { cron: '@yearly' }, () => {})
    await node.scheduler.start()
    await node.scheduler.trigger('yearly')
    await node.until('task_starts_total', { task_name: 'yearly', reason: 'manual' })
    expect(await node.value('task_delay_seconds_sum', { task_name: 'yearly' })).toBeLessThan(5)
  })

  it('P7: a late writer: task_fenced_total, and the outcome fenced', async () => {
    const node = new ObservedNode()
    node.scheduler.task('zombie', { everyMs: 1_000 }, () => { behind.exec(`UPDATE sched_executions SET fencing_token = fencing_token + 1 WHERE state = 'running'`) })
    await node.scheduler.start()
    const behind = behindItsBack(node.file)
    await node.until('task_fenced_total', { task_name: 'zombie' })
    expect(await node.value('task_runs_total', { task_name: 'zombie', outcome: 'fenced' })).toBeGreaterThanOrEqual(1)
    expect(await node.value('task_runs_total', { task_name: 'zombie', outcome: 'succeeded' })).toBe(0)
  })

  it('P6: a lost lease and what is recovered: scheduler_lease_lost_total, task_recovered_total, task_stalled_total', async () => {
    const node = new ObservedNode()
    const again = (context: TaskContext): Promise<void> | undefined => (context.attempt === 1 ? untilAborted(context) : undefined)
    node.scheduler.task('again', { cron: '@yearly' }, again)
    node.scheduler.task('once', { cron: '@yearly', recovery: 'fail' }, untilAborted)
    node.scheduler.task('halt', { cron: '@yearly', recovery: 'stall' }, untilAborted)
    await node.scheduler.start()
    for (const task of ['again', 'once', 'halt']) {
      await node.scheduler.trigger(task)
      await node.until('task_starts_total', { task_name: task })
    }
    expect(await node.value('scheduler_lease_lost_total')).toBe(0)
    behindItsBack(node.file).exec('UPDATE sched_nodes SET lease_until = 0')
    await node.until('task_recovered_total', { task_name: 'again', state: 'retry' })
    await node.until('task_recovered_total', { task_name: 'once', state: 'failed' })
    await node.until('task_stalled_total', { task_name: 'halt' })
    await node.until('task_runs_total', { task_name: 'again', outcome: 'succeeded' })
    expect(await node.value('scheduler_lease_lost_total')).toBe(1)
    expect(await node.value('task_retry_total', { task_name: 'again', reason: 'recovered' })).toBe(1)
    expect(await node.value('task_starts_total', { task_name: 'again', reason: 'recovered' })).toBe(1)
    expect(await node.value('task_failed_total', { task_name: 'once', code: 'SCHED_LEASE_LOST' })).toBe(1)
    expect(await node.until('task_fenced_total', {}, (count) => count >= 3)).toBe(3)
  })

  it('P6: a handler that ignores its signal: task_stuck, until it settles', async () => {
    const node = new ObservedNode({ abortGraceMs: 50 })
    let settle = (): void => {}
    const settled = new Promise<void>((resolve) => { settle = resolve })
    node.scheduler.task('deaf', { cron: '@yearly', timeoutMs: 50 }, () => settled)
    await node.scheduler.start()
    await node.scheduler.trigger('deaf')
    await node.until('task_stuck', { task_name: 'deaf' }, (stuck) => stuck === 1)
    expect(await node.value('scheduler_healthy')).toBe(0)
    settle()
    await node.until('task_stuck', { task_name: 'deaf' }, (stuck) => stuck === 0)
    expect(await node.value('scheduler_healthy')).toBe(1)
  })

  it('an end that cannot be written: the outcome unfinished, and scheduler_errors_total with the code', async () => {
    const node = new ObservedNode()
    node.scheduler.task('torn', { cron: '@yearly' }, () => { behind.exec('ALTER TABLE sched_executions RENAME TO hidden') })
    await node.scheduler.start()
    const behind = behindItsBack(node.file)
    await node.scheduler.trigger('torn')
    await node.until('task_runs_total', { task_name: 'torn', outcome: 'unfinished' })
    await node.until('scheduler_errors_total', { code: 'SCHED_TABLE_MISSING' })
    behind.exec('ALTER TABLE hidden RENAME TO sched_executions')
    // Nothing stays running: the row is found without a memory of it, and recovered.
    await node.until('task_recovered_total', { task_name: 'torn', state: 'retry' })
  })

  it('another revision of a definition: task_superseded_total on the node that stands back', async () => {
    const file = scratchFile()
    const newer = new ObservedNode({ file, revision: 2 })
    newer.scheduler.task('moved', { everyMs: 1_000 }, () => {})
    await newer.scheduler.start()
    const older = new ObservedNode({ file, revision: 1 })
    older.scheduler.task('moved', { everyMs: 2_000 }, () => {})
    await older.scheduler.start()
    expect(await older.value('task_superseded_total', { task_name: 'moved' })).toBe(1)
    expect(await newer.value('task_superseded_total')).toBe(0)
  })

  it('what waits for its turn: task_overdue_seconds', async () => {
    const node = new ObservedNode()
    node.scheduler.task('queued', { everyMs: 1_000, overlap: 'queue-one' }, () => sleep(2_600))
    await node.scheduler.start()
    await untilValue(node.registry, 'task_overdue_seconds', {}, (seconds) => seconds > 0.5)
  })
})
