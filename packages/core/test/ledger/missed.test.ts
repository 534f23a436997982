import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { fromFirstHole, settledUntil, settleMissed, type MissedRequest } from '../../src/ledger/missed.ts'
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
    expect(await settleMissed(scene.ledger, request())).toEqual({ missed: 4, caughtUp: [at(4)], stalled: false, more: false })
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
    expect(await settleMissed(scene.ledger, request())).toEqual({ missed: 2, caughtUp: [at(3)], stalled: false, more: false })
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
    expect(await settleMissed(scene.ledger, request({ catchUp: () => [] }))).toEqual({ missed: 5, caughtUp: [], stalled: false, more: false })
    expect(await scene.executions()).toMatchObject([{ state: 'missed', missed_from: at(0), fire_time: at(4), missed_count: 5 }])
  })

  it('P6: several may run: all that were picked wait for a start, the others are the record', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    expect(await settleMissed(scene.ledger, request({ catchUp: (holes) => holes.slice(-3) }))).toEqual({ missed: 2, caughtUp: [at(2), at(3), at(4)], stalled: false, more: false })
    expect((await scene.executions()).map(({ fire_time, state }) => [fire_time, state])).toEqual([[at(1), 'missed'], [at(2), 'pending'], [at(3), 'pending'], [at(4), 'pending']])
  })

  it('P6: holes stall a task that is to wait for a person, and nothing of it runs', async () => {
    const scene = new Scene(ground())
    const { request } = await outage(scene)
    expect(await settleMissed(scene.ledger, request({ catchUp: () => [], stall: true }))).toMatchObject({ missed: 5, stalled: true })
    expect(await scene.task()).toMatchObject({ state: 'stalled' })
    expect(await insertSlot(scene.ledger, scene.slot(await scene.now()))).toMatchObject({ status: 'ineligible' })
  })

  it('P6: a task that stalls on holes does not when all of them run', async () => {
    const scene = new Scene(ground())
    const { request, fireTimes } = await outage(scene)
    expect(await settleMissed(scene.ledger, request({ fireTimes: fireTimes.slice(-1), stall: true }))).toMatchObject({ missed: 0, stalled: false })
    expect(await scene.task()).toMatchObject({ state: 'active' })
  })

  it('P6: a thousand catch-ups are settled in portions, oldest first, and each moves armed_from', async () => {
    const scene = new Scene(ground())
    const { request, armedFrom } = await outage(scene)
    const fireTimes = Array.from({ length: 1_200 }, (_, index) => armedFrom + 1 + index)
    const portion = (from: number) => settleMissed(scene.neighbour(), request({ armedFrom: from, fireTimes: fireTimes.filter((fireTime) => fireTime > from), catchUp: (holes) => holes.slice(-1_100) }))
    const picked: number[] = []
    for (let more = true, portions = 1; more; portions += 1) {
      expect(portions).toBeLessThanOrEqual(3)
      const from = (await scene.task())['armed_from'] as number
      const outcome = await portion(from)
      if (outcome === 'overtaken') throw new Error('nobody else is there')
      expect(outcome.missed).toBe(portions === 1 ? 100 : 0)
      expect(outcome.caughtUp.length).toBeLessThanOrEqual(500)
      picked.push(...outcome.caughtUp)
      expect((await scene.task())['armed_from']).toBe(picked.at(-1))
      more = outcome.more
    }
    expect(picked).toEqual(fireTimes.slice(-1_100))
    const rows = await scene.executions()
    expect(rows.filter(({ state, origin }) => state === 'pending' && origin === 'catchup').map(({ fire_time }) => fire_time)).toEqual(picked)
    expect(rows.filter(({ state }) => state === 'missed')).toMatchObject([{ missed_from: fireTimes[0], fire_time: fireTimes[99], missed_count: 100 }])
  }, 60_000)

  it('P6: a slot that was claimed and never started is a hole like the others: it runs late, or is given up', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    const [early, late] = [await scene.addExecution({ fire_time: at(0) - 1 }), await scene.addExecution({ fire_time: at(4) })]
    const others = [await scene.addExecution({ fire_time: at(1), origin: 'catchup' }), await scene.addExecution({ fire_time: at(2), slot_key: randomUUID(), origin: 'manual' }), await scene.addExecution({ fire_time: at(4) + 1 })]
    const before = await Promise.all(others.map((id) => scene.execution(id)))
    expect(await settleMissed(scene.ledger, request({ orphansUntil: at(4) }))).toEqual({ missed: 4, caughtUp: [at(4)], stalled: false, more: false })
    expect(await scene.execution(late)).toMatchObject({ state: 'pending', origin: 'catchup' })
    expect(await scene.execution(early)).toMatchObject({ state: 'missed', error_code: 'missed', missed_from: null })
    expect((await scene.executions()).filter(({ missed_count }) => missed_count !== null)).toMatchObject([{ missed_from: at(0), fire_time: at(3), missed_count: 3 }])
    expect(await Promise.all(others.map((id) => scene.execution(id)))).toEqual(before)
  })

  it('P6: orphans before armed_from are settled too, which stays where it is', async () => {
    const scene = new Scene(ground())
    const { request, armedFrom } = await outage(scene)
    const orphan = await scene.addExecution({ fire_time: armedFrom - 1 })
    const queued = request({ fireTimes: [] })
    expect(await settleMissed(scene.ledger, queued)).toMatchObject({ missed: 0, caughtUp: [] })
    expect(await settleMissed(scene.ledger, { ...queued, orphansUntil: armedFrom, catchUp: () => [], stall: true })).toMatchObject({ missed: 1, stalled: true })
    expect(await scene.execution(orphan)).toMatchObject({ state: 'missed' })
    expect(await scene.task()).toMatchObject({ armed_from: armedFrom, state: 'stalled' })
  })

  it('P6: fire times that are too many to list are counted in the record, but for those that have a row', async () => {
    const scene = new Scene(ground())
    const { request, armedFrom, at } = await outage(scene)
    await scene.addExecution({ fire_time: armedFrom + 2, state: 'succeeded' })
    expect(await settleMissed(scene.ledger, request({ before: { from: armedFrom + 1, count: 1_000 } }))).toMatchObject({ missed: 1_003, caughtUp: [at(4)] })
    expect((await scene.executions()).filter(({ state }) => state === 'missed')).toMatchObject([{ missed_from: armedFrom + 1, fire_time: at(3), missed_count: 1_003 }])
  })

  it('P6: without holes armed_from moves and nothing is written', async () => {
    const scene = new Scene(ground())
    const { request, fireTimes, at } = await outage(scene)
    for (const fireTime of fireTimes) await scene.addExecution({ fire_time: fireTime, state: 'succeeded' })
    expect(await settleMissed(scene.ledger, request())).toEqual({ missed: 0, caughtUp: [], stalled: false, more: false })
    expect(await scene.executions()).toHaveLength(5)
    expect((await scene.task())['armed_from']).toBe(at(4))
  })

  it('P1: of ten scans at once one chooses, and one slot runs', async () => {
    const scene = new Scene(ground())
    const { request, at } = await outage(scene)
    // Each has a mind of its own: without the lock on the task's row they would choose differently.
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => settleMissed(scene.neighbour({ rowLockMs: 10_000 }), request({ catchUp: (holes) => holes.slice(index % holes.length, (index % holes.length) + 1) }))))
    expect(outcomes.filter((outcome) => outcome !== 'overtaken')).toHaveLength(1)
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
    expect(await settleMissed(scene.ledger, request({ armedFrom: armedFrom - 1 }))).toBe('overtaken')
    expect(await settleMissed(scene.ledger, request({ definitionHash: otherHash }))).toBe('overtaken')
    expect(await settleMissed(scene.ledger, request({ fireTimes: [] }))).toEqual({ missed: 0, caughtUp: [], stalled: false, more: false })
    const paused = new Scene(ground())
    expect(await settleMissed(paused.ledger, (await outage(paused, { state: 'paused' })).request())).toBe('overtaken')
    expect([await scene.executions(), await paused.executions()]).toEqual([[], []])
  })

  it('P6: what ran before the first hole is not read again under the lock, however much it is', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const fireTimes = Array.from({ length: 5_400 }, (_, index) => 1_000 * (index + 1))
    const fromHole = () => fromFirstHole(scene.ledger, 'job', fireTimes)
    expect(await fromHole()).toEqual(fireTimes)
    const one = { execution_id: '', task_name: 'job', fire_time: 0, slot_key: 'cron', state: 'succeeded', origin: 'scheduled', attempt: 1, crash_count: 0, due_at: 0, created_at: 0, definition_hash: hash }
    const rows = fireTimes.map((fireTime) => ({ ...one, execution_id: randomUUID(), fire_time: fireTime }))
    for (let first = 0; first < rows.length; first += 1_000) {
      const some = rows.slice(first, first + 1_000)
      await scene.query(`INSERT INTO ${scene.ledger.tables.executions} (namespace, ${Object.keys(one).join(', ')}) VALUES ${some.map(() => '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`, some.flatMap((row) => [scene.namespace, ...Object.values(row)]))
    }
    expect(await fromHole()).toEqual([])
    const remove = (index: number) => scene.query(`DELETE FROM ${scene.ledger.tables.executions} WHERE namespace = ? AND fire_time = ?`, [scene.namespace, fireTimes[index] as number])
    for (const index of [5_399, 5_300, 4_999, 17, 0]) {
      await remove(index)
      expect(await fromHole()).toEqual(fireTimes.slice(index))
    }
  }, 60_000)

  it('P6: the search begins where everything is settled: armed_from, or the newest row before the horizon', async () => {
    const scene = new Scene(ground())
    const { ledger } = scene
    await scene.addTask()
    expect(await settledUntil(ledger, 'job', 500, 1_000)).toEqual({ from: 500, newest: -Infinity }) // a new task has missed nothing before armed_from
    await scene.addExecution({ fire_time: 2_000 })
    expect(await settledUntil(ledger, 'job', 500, 1_000)).toEqual({ from: 1_000, newest: 2_000 }) // older rows may have been removed
    await scene.addExecution({ fire_time: 800 })
    expect(await settledUntil(ledger, 'job', 500, 1_000)).toEqual({ from: 800, newest: 2_000 })
    expect(await settledUntil(ledger, 'job', 900, 1_000)).toEqual({ from: 900, newest: 2_000 })
    await scene.addExecution({ fire_time: 990, slot_key: 'manual' })
    expect(await settledUntil(ledger, 'job', 500, 1_000)).toEqual({ from: 800, newest: 2_000 })
  })
})
