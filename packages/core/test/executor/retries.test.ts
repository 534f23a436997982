import { expect } from 'vitest'
import { onStores } from './on-stores.ts'
import { far } from './scenarios.ts'

onStores((scenario) => {
  scenario('P6: a retry is persisted, due after its backoff, and each attempt has a larger token', async (cluster) => {
    // Beyond a heartbeat a slot would be caught up instead; the backoff is what a loaded machine may take to look at the row.
    const node = cluster.node({ leaseMs: 12_000, heartbeatMs: 3_000 })
    const backoffMs = 3_000
    const tokens: number[] = []
    const reasons: string[] = []
    const first: { executionId?: string } = {}
    node.scheduler.task('flaky', { everyMs: 1_000, retry: { max: 3, backoffMs } }, ({ executionId, attempt, fencingToken, reason }) => {
      first.executionId ??= executionId
      if (executionId !== first.executionId) return
      tokens.push(fencingToken)
      reasons.push(reason)
      if (attempt < 3) throw new Error(`attempt ${attempt}`)
    })
    await node.scheduler.start()
    const retry = await node.event('execution.retry')
    expect(retry).toMatchObject({ attempt: 1, reason: 'retry', delayMs: backoffMs })
    expect((await cluster.executions('flaky')).find((row) => row['execution_id'] === first.executionId)).toMatchObject({ state: 'retry', attempt: 1, error_text: 'attempt 1' })
    // The gate is not held while backing off.
    await node.event('execution.succeeded', ({ executionId }) => executionId === first.executionId)
    expect(reasons).toEqual(['scheduled', 'retry', 'retry'])
    expect([...tokens].sort((a, b) => a - b)).toEqual(tokens)
    expect(new Set(tokens).size).toBe(3)
    const starts = node.happened.filter((entry) => entry.name === 'execution.started' && entry.event.executionId === first.executionId).map(({ at }) => at)
    expect((starts[1] as number) - (starts[0] as number)).toBeGreaterThanOrEqual(backoffMs - 5)
  })

  scenario('P6: a retry does not wait for a heartbeat', async (cluster) => {
    const node = cluster.node({ leaseMs: 60_000, heartbeatMs: 20_000 })
    node.scheduler.task('flaky', { everyMs: far, retry: { max: 1, backoffMs: 200 } }, ({ attempt }) => { if (attempt === 1) throw new Error('once') })
    await node.scheduler.start()
    await node.scheduler.trigger('flaky')
    const first = await node.event('execution.started', ({ attempt }) => attempt === 1)
    const began = performance.now()
    await node.event('execution.started', ({ attempt, executionId }) => attempt === 2 && executionId === first.executionId)
    // 200 ms of backoff, and slack for a loaded machine: well under the heartbeat.
    expect(performance.now() - began).toBeLessThan(8_000)
  })

  scenario('P6: attempts end at the limit, and at once for an error that is not worth another', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('hopeless', { everyMs: 1_000, retry: { max: 1, backoffMs: 0 } }, () => { throw new Error('always') })
    node.scheduler.task('picky', { everyMs: 1_000, retry: { max: 5, backoffMs: 0, retryable: (error) => (error as Error).message !== 'bad input' } }, () => { throw new Error('bad input') })
    await node.scheduler.start()
    const hopeless = await node.event('execution.failed', ({ task }) => task === 'hopeless')
    const picky = await node.event('execution.failed', ({ task }) => task === 'picky')
    expect([hopeless.attempt, picky.attempt]).toEqual([2, 1])
    expect(node.events('execution.retry').some(({ task }) => task === 'picky')).toBe(false)
  })

  scenario('P6: a retry whose instance has left is picked up by another, when it is due', async (cluster) => {
    const options = { everyMs: 1_000, retry: { max: 1, backoffMs: 6_000 } } // longer than the stop takes
    const one = cluster.node()
    one.scheduler.task('flaky', options, () => { throw new Error('fails here') })
    await one.scheduler.start()
    const retry = await one.event('execution.retry')
    await one.scheduler.stop()
    const two = cluster.node()
    two.scheduler.task('flaky', options, () => {})
    await two.scheduler.start()
    const second = await two.event('execution.started', ({ executionId }) => executionId === retry.executionId)
    expect(second).toMatchObject({ attempt: 2, attemptReason: 'retry' })
    expect(second.fencingToken).toBeGreaterThan(retry.fencingToken)
    await two.event('execution.succeeded', ({ executionId }) => executionId === retry.executionId)
  })

  scenario('P6: due rows of tasks that nobody carries do not hide those of others', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('mine', { everyMs: far }, () => {})
    await node.scheduler.start()
    const row = (id: string, task: string, dueAt: number): Promise<unknown> => cluster.query(`INSERT INTO sched_executions (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash) VALUES ('test', ?, ?, ?, 'cron', 'retry', 'scheduled', 1, 0, ?, 1, 'h')`, [id, task, dueAt, dueAt])
    // Another service of the namespace that is not running has left a backlog.
    for (let index = 1; index <= 150; index += 1) await row(`theirs-${index}`, 'theirs', index)
    await row('mine', 'mine', 1_000)
    expect(await node.event('execution.succeeded', ({ executionId }) => executionId === 'mine')).toMatchObject({ attempt: 2 })
  })
})
