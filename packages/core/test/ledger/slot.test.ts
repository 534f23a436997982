import { expect, it, vi } from 'vitest'
import { insertSlot, skipSlot } from '../../src/ledger/slot.ts'
import { hash, otherHash, Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

describeStores('slot (statement N)', (ground) => {
  it('P1: the first claim of a fire time wins, and its row waits for a start', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const fireTime = await scene.now()
    const slot = scene.slot(fireTime, { dueAt: fireTime + 40 })
    expect(await insertSlot(scene.ledger, slot)).toEqual({ status: 'won' })
    expect(await scene.execution(slot.executionId)).toMatchObject({
      task_name: 'job', fire_time: fireTime, slot_key: 'cron', state: 'pending', origin: 'scheduled', attempt: 0, crash_count: 0, due_at: fireTime + 40, owner: null, definition_hash: hash,
    })
  })

  it('P1: of twenty claims of one fire time on twenty sessions one wins, and there is one row', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const fireTime = await scene.now()
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => insertSlot(scene.neighbour(), scene.slot(fireTime))))
    expect(outcomes.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 19 }, () => 'taken'), 'won'])
    expect(await scene.executions()).toHaveLength(1)
  })

  it('P1: who loses a slot has sent one statement', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const slot = scene.slot(await scene.now())
    expect(await insertSlot(scene.neighbour(), slot)).toEqual({ status: 'won' })
    const statements = vi.spyOn(scene.ledger.store, 'run')
    expect(await insertSlot(scene.ledger, scene.slot(slot.fireTime))).toEqual({ status: 'taken' })
    expect(statements).toHaveBeenCalledTimes(1)
    expect(await scene.executions()).toHaveLength(1)
  })

  it('P9: a node whose clock is ahead claims nothing before its time, and learns what time it is', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const before = await scene.now()
    const outcome = await insertSlot(scene.ledger, scene.slot(before + 60_000))
    expect(outcome).toMatchObject({ status: 'ineligible' })
    const { dbNow } = outcome as { dbNow: number }
    expect(dbNow).toBeGreaterThanOrEqual(before)
    expect(dbNow).toBeLessThanOrEqual(await scene.now())
    expect(await scene.executions()).toEqual([])
  })

  it('P9: within the tolerance a slot may be claimed a little early', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    expect(await insertSlot(scene.ledger, scene.slot(await scene.now() + 5_000, { toleranceMs: 10_000 }))).toEqual({ status: 'won' })
  })

  it('P9: a slot older than the claim window is refused', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    expect(await insertSlot(scene.ledger, scene.slot(await scene.now() - 10_500))).toMatchObject({ status: 'ineligible' })
    expect(await insertSlot(scene.ledger, scene.slot(await scene.now() - 5_000))).toEqual({ status: 'won' })
  })

  it.each(['paused', 'stalled', 'retired'])('P1: nothing is claimed for a task that is %s', async (state) => {
    const scene = new Scene(ground())
    await scene.addTask('job', { state })
    expect(await insertSlot(scene.ledger, scene.slot(await scene.now()))).toMatchObject({ status: 'ineligible' })
    expect(await scene.executions()).toEqual([])
  })

  it('P1: a node with another definition of the task claims nothing', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    expect(await insertSlot(scene.ledger, scene.slot(await scene.now(), { definitionHash: otherHash }))).toMatchObject({ status: 'ineligible' })
  })

  it('P1: what was written off, up to and including armed_from, is claimed by nobody', async () => {
    const scene = new Scene(ground())
    const now = await scene.now()
    await scene.addTask('job', { armed_from: now - 3_000 })
    expect(await insertSlot(scene.ledger, scene.slot(now - 4_000))).toMatchObject({ status: 'ineligible' })
    expect(await insertSlot(scene.ledger, scene.slot(now - 3_000))).toMatchObject({ status: 'ineligible' })
    expect(await insertSlot(scene.ledger, scene.slot(now - 2_999))).toEqual({ status: 'won' })
  })

  it('P1: a task that is not in the ledger, or only in another namespace, has no slots', async () => {
    const [scene, other] = [new Scene(ground()), new Scene(ground())]
    await other.addTask()
    expect(await insertSlot(scene.ledger, scene.slot(await scene.now()))).toMatchObject({ status: 'ineligible' })
    expect(await insertSlot(other.ledger, other.slot(await other.now()))).toEqual({ status: 'won' })
  })

  it('P10: a slot that did not run says why, once', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const slot = scene.slot(await scene.now())
    await insertSlot(scene.ledger, slot)
    expect(await skipSlot(scene.ledger, slot.executionId, { code: 'overlap', text: 'the previous run has not ended' })).toBe(true)
    expect(await scene.execution(slot.executionId)).toMatchObject({ state: 'skipped', error_code: 'overlap', error_text: 'the previous run has not ended' })
    expect(await skipSlot(scene.ledger, slot.executionId, { code: 'overlap', text: 'again' })).toBe(false)
  })
})
