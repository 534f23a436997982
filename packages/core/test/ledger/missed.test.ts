import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { settledUntil, settleMissed, type MissedRequest } from '../../src/ledger/missed.ts'
import { insertSlot } from '../../src/ledger/slot.ts'
import { hash, otherHash, Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

/** A task whose last minutes nobody has looked at: fire times each minute, `armedFrom` ten minutes ago. */
async function outage(scene: Scene, columns: Record<string, string> = {}) {
  const now = await scene.now()
  const armedFrom = now - 600_000
  await scene.addTask('job', { armed_from: armedFrom, ...columns })
  const fireTimes = [9, 8, 7, 6, 5].map((minutes) => now - minutes * 60_000)
  const request = (more: Partial<MissedRequest> = {}): MissedRequest => ({
    taskName: 'job', definitionHash: hash, armedFrom, fireTimes, catchUp: (holes) => holes.slice(-1), stall: false, newId: randomUUID, ...more,
  })
  return { armedFrom, fireTimes, request, at: (index: number) => fireTimes[index] as number }
}

describeStores('missed slots', (ground) => {
  it('P6: of five missed slots the latest runs now and the others are one record', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    expect(await settleMissed(scene.ledger, request())).toEqual({ missed: 4, caughtUp: [at(4)], stalled: false })
    const rows = await scene.executions()
    expect(rows).toHaveLength(2)
    expect(rows[0]).toMatchObject({ state: 'missed', fire_time: at(3), missed_from: at(0), missed_count: 4, error_code: 'missed' })
    expect(rows[1]).toMatchObject({ state: 'pending', origin: 'catchup', fire_time: at(4), attempt: 0 })
    expect((await scene.task())['armed_from']).toBe(at(4))
  })

  it('P6: only holes count: what somebody claimed, ran or recorded is settled', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    await scene.addExecution({ fire_time: at(4), state: 'succeeded' })
    await scene.addExecution({ fire_time: at(1), state: 'pending' })
    expect(await settleMissed(scene.ledger, request())).toEqual({ missed: 2, caughtUp: [at(3)], stalled: false })
    const rows = await scene.executions()
    expect(rows.map(({ fire_time, state }) => [fire_time, state])).toEqual([[at(1), 'pending'], [at(2), 'missed'], [at(3), 'pending'], [at(4), 'succeeded']])
  })

  it('P1: a manual run at the same millisecond does not fill a hole', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    await scene.addExecution({ fire_time: at(4), slot_key: randomUUID(), origin: 'manual', state: 'succeeded' })
    expect(await settleMissed(scene.ledger, request())).toMatchObject({ caughtUp: [at(4)] })
  })

  it('P6: when nothing is to run, everything is one record', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    expect(await settleMissed(scene.ledger, request({ catchUp: () => [] }))).toEqual({ missed: 5, caughtUp: [], stalled: false })
    expect(await scene.executions()).toMatchObject([{ state: 'missed', missed_from: at(0), fire_time: at(4), missed_count: 5 }])
  })

  it('P6: several may run: all that were picked wait for a start, the others are the record', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    expect(await settleMissed(scene.ledger, request({ catchUp: (holes) => holes.slice(-3) }))).toEqual({ missed: 2, caughtUp: [at(2), at(3), at(4)], stalled: false })
    expect((await scene.executions()).map(({ fire_time, state }) => [fire_time, state])).toEqual([[at(1), 'missed'], [at(2), 'pending'], [at(3), 'pending'], [at(4), 'pending']])
  })

  it('P6: holes stall a task that is to wait for a person, and nothing of it runs', async () => {
    const scene = new Scene(ground())
    const { request } = await outage(scene)
    expect(await settleMissed(scene.ledger, request({ catchUp: () => [], stall: true }))).toMatchObject({ missed: 5, stalled: true })
    expect(await scene.task()).toMatchObject({ state: 'stalled' })
    expect(await insertSlot(scene.ledger, scene.slot(await scene.now()))).toMatchObject({ status: 'ineligible' })
  })

  it('P6: without holes armed_from moves and nothing is written', async () => {
    const scene = new Scene(ground())
    const { request, fireTimes, at } = await outage(scene)
    for (const fireTime of fireTimes) await scene.addExecution({ fire_time: fireTime, state: 'succeeded' })
    expect(await settleMissed(scene.ledger, request())).toEqual({ missed: 0, caughtUp: [], stalled: false })
    expect(await scene.executions()).toHaveLength(5)
    expect((await scene.task())['armed_from']).toBe(at(4))
  })

  it('P1: of ten scans at once one chooses, and one slot runs', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    // Each has a mind of its own: without the lock on the task's row they would choose differently.
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => settleMissed(scene.neighbour({ rowLockMs: 5_000 }), request({ catchUp: (holes) => holes.slice(index % holes.length, (index % holes.length) + 1) }))))
    expect(outcomes.filter((outcome) => outcome !== null)).toHaveLength(1)
    const rows = await scene.executions()
    expect(rows.filter(({ state }) => state === 'pending')).toHaveLength(1)
    expect(rows.filter(({ state }) => state === 'missed')).toHaveLength(1)
    expect((await scene.task())['armed_from']).toBe(at(4))
  })

  it('P1: what a scan has settled no late node claims', async () => {
    const scene = new Scene(ground())
    const { request, fireTimes } = await outage(scene)
    await settleMissed(scene.ledger, request())
    for (const fireTime of fireTimes) {
      expect(await insertSlot(scene.ledger, scene.slot(fireTime, { maxClaimAgeMs: 86_400_000 }))).toMatchObject({ status: 'ineligible' })
    }
  })

  it('P1: a scan computed from an old armed_from, for another definition or a paused task is void', async () => {
    const scene = new Scene(ground())
    const { request, armedFrom } = await outage(scene)
    expect(await settleMissed(scene.ledger, request({ armedFrom: armedFrom - 1 }))).toBeNull()
    expect(await settleMissed(scene.ledger, request({ definitionHash: otherHash }))).toBeNull()
    expect(await settleMissed(scene.ledger, request({ fireTimes: [] }))).toBeNull()
    const paused = new Scene(ground())
    expect(await settleMissed(paused.ledger, (await outage(paused, { state: 'paused' })).request())).toBeNull()
    expect([await scene.executions(), await paused.executions()]).toEqual([[], []])
  })

  it('P6: the search begins where everything is settled: armed_from, or the newest row before the horizon', async () => {
    const scene = new Scene(ground())
    const { ledger } = scene
    await scene.addTask()
    expect(await settledUntil(ledger, 'job', 500, 1_000)).toBe(500) // a new task has missed nothing before armed_from
    await scene.addExecution({ fire_time: 2_000 })
    expect(await settledUntil(ledger, 'job', 500, 1_000)).toBe(1_000) // older rows may have been removed
    await scene.addExecution({ fire_time: 800 })
    expect(await settledUntil(ledger, 'job', 500, 1_000)).toBe(800)
    expect(await settledUntil(ledger, 'job', 900, 1_000)).toBe(900)
    await scene.addExecution({ fire_time: 990, slot_key: 'manual' })
    expect(await settledUntil(ledger, 'job', 500, 1_000)).toBe(800)
  })
})
