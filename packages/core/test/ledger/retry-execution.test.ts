import { expect, it } from 'vitest'
import { cancelExecution } from '../../src/ledger/operate.ts'
import { retryExecution } from '../../src/ledger/retry-execution.ts'
import { startExecution } from '../../src/ledger/start.ts'
import { finishExecution } from '../../src/ledger/finish.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

describeStores('retry by hand', (ground) => {
  it.each(['failed', 'skipped', 'missed'] as const)('P6: what is %s is due again at once, for the same fire time, and says that a person asked for it', async (state) => {
    const scene = new Scene(ground())
    await scene.addTask()
    const { executionId } = await scene.addExecutionIn(state, 'nobody', { fire_time: 5, due_at: 5, attempt: 2, crash_count: 1, error_code: 'E', error_text: 'text' })
    const before = await scene.now()
    expect(await retryExecution(scene.ledger, executionId)).toBe('retried')
    const row = await scene.execution(executionId)
    expect(row).toMatchObject({ state: 'retry', fire_time: 5, attempt_reason: 'manual', attempt: 2, crash_count: 1, error_code: 'E' })
    expect(row['due_at']).toBeGreaterThanOrEqual(before)
    expect(row['due_at']).toBeLessThanOrEqual(await scene.now())
    const started = await startExecution(scene.ledger, scene.startRequest(executionId, await scene.addNode()))
    expect(started).toMatchObject({ status: 'started', attempt: 3, crashCount: 1 })
  })

  it.each([['pending', 'open'], ['running', 'open'], ['retry', 'open'], ['succeeded', 'succeeded']] as const)('P1: what is %s is left alone', async (state, outcome) => {
    const scene = new Scene(ground())
    await scene.addTask()
    const { executionId } = await scene.addExecutionIn(state, await scene.addNode())
    const before = await scene.execution(executionId)
    expect(await retryExecution(scene.ledger, executionId)).toBe(outcome)
    expect(await scene.execution(executionId)).toEqual(before)
  })

  it('P10: what the ledger does not have is unknown, and what no live revision has is refused', async () => {
    const scene = new Scene(ground())
    expect(await retryExecution(scene.ledger, 'no-such-id')).toBe('unknown')
    await scene.addTask('gone', { state: 'retired' })
    const { executionId } = await scene.addExecutionIn('failed', 'nobody', { task_name: 'gone' })
    await expect(retryExecution(scene.ledger, executionId)).rejects.toMatchObject({ code: 'SCHED_TASK_UNKNOWN' })
    expect(await scene.execution(executionId)).toMatchObject({ state: 'failed' })
  })

  it('P6: an old wish to cancel does not end the new attempt', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const nodeId = await scene.addNode()
    const executionId = await scene.addExecution()
    expect(await cancelExecution(scene.ledger, executionId, 'enough.')).toBe('cancelled')
    expect(await retryExecution(scene.ledger, executionId)).toBe('retried')
    const request = scene.startRequest(executionId, nodeId)
    const started = await startExecution(scene.ledger, request)
    if (started.status !== 'started') throw new Error(`it is ${started.status}`)
    const end = { state: 'retry', reason: 'retry', delayMs: 0, charged: true, errorCode: 'E', errorText: 'text' } as const
    expect(await finishExecution(scene.ledger, { executionId, taskName: 'job', owner: request.owner, fencingToken: started.fencingToken }, end, { clearGate: true })).toBe('done')
    expect(await scene.execution(executionId)).toMatchObject({ state: 'retry', cancel_requested_at: null })
  })

  it('P1: asked for by several at once, it is due once', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const { executionId } = await scene.addExecutionIn('failed', 'nobody')
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => retryExecution(scene.neighbour({ rowLockMs: 10_000 }), executionId)))
    expect(outcomes.sort()).toEqual(['open', 'open', 'open', 'open', 'retried'])
  })
})
