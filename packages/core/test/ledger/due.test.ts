import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { beyondBounds, dueExecutions, dueTasks } from '../../src/ledger/due.ts'
import { skipSlot } from '../../src/ledger/slot.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const byHand = (): { slot_key: string; origin: string } => ({ slot_key: randomUUID(), origin: 'manual' })

describeStores('what waits for a start', (ground) => {
  it('P6: the tasks of which something is due, longest wait first, with what a node must know of each', async () => {
    const scene = new Scene(ground())
    const now = await scene.now()
    for (const name of ['held', 'free', 'young', 'later', 'over']) await scene.addTask(name, name === 'held' ? { gate_owner: 'somebody', gate_node: 'a-node' } : {})
    const retry = await scene.addExecution({ task_name: 'free', state: 'retry', attempt_reason: 'recovered', attempt: 2, crash_count: 1, due_at: now - 5000, fire_time: now - 9000 })
    await scene.addExecution({ task_name: 'held', origin: 'catchup', due_at: now - 7000, fire_time: now - 8000 })
    await scene.addExecution({ task_name: 'held', ...byHand(), due_at: now - 3000, fire_time: now - 3000 })
    // In the hand of whoever claimed it a moment ago; a retry that backs off; one that has ended.
    const claimed = await scene.addExecution({ task_name: 'young', due_at: now - 4000 })
    await scene.addExecution({ task_name: 'later', state: 'retry', due_at: now + 60_000 })
    await scene.addExecution({ task_name: 'over', state: 'succeeded', due_at: now - 9000 })
    const neighbour = new Scene(ground())
    await neighbour.addTask('elsewhere')
    await neighbour.addExecution({ task_name: 'elsewhere', origin: 'catchup' })

    expect(await dueTasks(scene.ledger, 60_000)).toEqual([
      { taskName: 'held', dueAt: now - 7000, fireTime: now - 8000, byHand: true, gateTaken: true, only: undefined, latestSlot: null, more: true },
      {
        taskName: 'free', dueAt: now - 5000, fireTime: now - 9000, byHand: false, gateTaken: false, latestSlot: null, more: true,
        only: { executionId: retry, taskName: 'free', fireTime: now - 9000, dueAt: now - 5000, state: 'retry', origin: 'scheduled', attemptReason: 'recovered', attempt: 2, crashCount: 1 },
      },
    ])
    const [held, free, young] = await dueTasks(scene.ledger, 1000)
    expect([held?.taskName, free?.taskName]).toEqual(['held', 'free'])
    expect(young).toMatchObject({ taskName: 'young', latestSlot: young?.fireTime, more: false, only: { executionId: claimed } })
  })

  it('P6: of one task, oldest fire time first, page by page, however much became due at the same moment', async () => {
    const scene = new Scene(ground())
    const now = await scene.now()
    await scene.addTask()
    const ids: string[] = []
    for (const age of [3, 1, 5, 2, 4]) ids[age] = await scene.addExecution({ origin: age === 1 ? 'scheduled' : 'catchup', fire_time: now - age * 1000, due_at: now - 100 })
    const manual = await scene.addExecution({ ...byHand(), fire_time: now - 3000, due_at: now - 100 })
    const again = await scene.addExecution({ state: 'retry', attempt_reason: 'manual', fire_time: now - 500, due_at: now - 100 })
    const due = { which: 'no-slots', most: 2 } as const
    const seen: string[] = []
    for (let page = await dueExecutions(scene.ledger, 'job', due); page.length > 0; page = await dueExecutions(scene.ledger, 'job', { ...due, after: page.at(-1) })) seen.push(...page.map(({ executionId }) => executionId))
    expect(seen).toEqual([ids[5], ids[4], ...[ids[3] as string, manual].sort(), ids[2], again])
    expect((await dueExecutions(scene.ledger, 'job', { which: 'all', most: 100 })).map(({ executionId }) => executionId)).toContain(ids[1])
    const slots = { most: 100, slotsOnly: true } as const
    expect((await dueExecutions(scene.ledger, 'job', { ...slots, which: 'all' })).map(({ executionId }) => executionId)).toEqual([ids[5], ids[4], ids[3], ids[2], ids[1]])
    expect((await dueExecutions(scene.ledger, 'job', { ...slots, which: 'no-slots' })).map(({ executionId }) => executionId)).toEqual([ids[5], ids[4], ids[3], ids[2]])
    expect(await dueExecutions(scene.ledger, 'job', { ...slots, which: 'by-hand' })).toEqual([])
    expect((await dueExecutions(scene.ledger, 'job', { ...due, which: 'by-hand' })).map(({ executionId }) => executionId)).toEqual([manual, again])
  })

  it('P6: what a backlog has beyond its bounds, by count or by age, is the oldest of it, and only slots of the schedule', async () => {
    const scene = new Scene(ground())
    const now = await scene.now()
    await scene.addTask()
    const ids: string[] = []
    for (const minutes of [1, 2, 3, 4, 5]) ids[minutes] = await scene.addExecution({ fire_time: now - minutes * 60_000 })
    await scene.addExecution({ fire_time: now - 600_000, state: 'retry' })
    await scene.addExecution({ ...byHand(), fire_time: now - 600_000 })
    expect(await beyondBounds(scene.ledger, 'job', { most: 5, maxAgeMs: 600_000 })).toEqual([])
    expect(await beyondBounds(scene.ledger, 'job', { most: 3, maxAgeMs: 600_000 })).toEqual([ids[5], ids[4]])
    expect(await beyondBounds(scene.ledger, 'job', { most: 4, maxAgeMs: 150_000 })).toEqual([ids[5], ids[4], ids[3]])
  })

  it('P7: a slot that is given up as missed says why, and not when it has started meanwhile', async () => {
    const scene = new Scene(ground())
    const nodeId = await scene.addNode()
    const waiting = await scene.addExecution()
    const { executionId: running } = await scene.addExecutionIn('running', nodeId, { fire_time: 1 })
    const reason = { code: 'backlog', text: 'more than 5 slots waited' }
    expect([await skipSlot(scene.ledger, waiting, reason, 'missed'), await skipSlot(scene.ledger, running, reason, 'missed')]).toEqual([true, false])
    expect(await scene.execution(waiting)).toMatchObject({ state: 'missed', error_code: 'backlog', error_text: 'more than 5 slots waited', missed_count: null })
    expect((await scene.execution(running))['state']).toBe('running')
  })
})
