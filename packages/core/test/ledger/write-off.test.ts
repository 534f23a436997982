import { expect, it } from 'vitest'
import { overrideSchedule, pauseTask, resumeTask } from '../../src/ledger/operate.ts'
import type { ScheduleReader } from '../../src/ledger/stored-task.ts'
import { readTask, registerTasks } from '../../src/ledger/tasks.ts'
import { compileSchedule } from '../../src/schedule/schedule.ts'
import { hash, otherHash, Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

/** The spec and the override are a period in ms. */
const readSchedule: ScheduleReader = ({ spec, override }) => ({ key: override ?? spec, schedule: compileSchedule({ everyMs: Number(override ?? spec) }) })

async function paused(scene: Scene, agoMs: number): Promise<number> {
  const armedFrom = await scene.now() - agoMs
  await scene.addTask('job', { spec: '1000', armed_from: armedFrom })
  expect(await pauseTask(scene.ledger, 'job', 'stocktaking')).toBe(true)
  return armedFrom
}

const multiple = (instant: number): number => Math.floor(instant / 1000) * 1000

describeStores('fire times that are written off', (ground) => {
  it('P1: resuming records all since the newest slot in one row, and arms from the same moment', async () => {
    const scene = new Scene(ground())
    const newest = multiple(await paused(scene, 600_000)) + 1000
    await scene.addExecution({ fire_time: newest, state: 'succeeded' })
    await scene.addExecution({ fire_time: newest + 500, state: 'succeeded', slot_key: 'by hand' })
    await scene.addExecution({ fire_time: newest, state: 'succeeded', task_name: 'another' })
    expect(await resumeTask(scene.ledger, 'job', readSchedule)).toBe(true)
    const armedFrom = (await scene.task())['armed_from'] as number
    const [record, ...others] = (await scene.executions()).filter(({ state }) => state === 'missed')
    expect(others).toEqual([])
    expect(record).toMatchObject({
      fire_time: multiple(armedFrom), missed_from: newest + 1000, missed_count: (multiple(armedFrom) - newest) / 1000, slot_key: 'cron', origin: 'scheduled', task_name: 'job',
      error_code: 'paused', error_text: 'the task was paused: stocktaking.', finished_at: expect.any(Number) as number,
    })
    expect(await scene.task()).toMatchObject({ state: 'active', state_reason: null })
    expect(await resumeTask(scene.ledger, 'job', readSchedule)).toBe(false)
  })

  it('P1: resuming records what nobody claimed before the newest slot as missed: no scan will find it', async () => {
    const scene = new Scene(ground())
    const first = multiple(await paused(scene, 30_000)) + 1000
    for (const fireTime of [first, first + 3_000, first + 9_000]) await scene.addExecution({ fire_time: fireTime, state: 'succeeded' })
    expect(await resumeTask(scene.ledger, 'job', readSchedule)).toBe(true)
    expect((await scene.executions()).filter(({ state }) => state === 'missed')).toMatchObject([
      { fire_time: first + 8_000, missed_from: first + 1_000, missed_count: 7, error_code: 'missed', error_text: 'no instance claimed these fire times in time.' },
      { missed_from: first + 10_000, error_code: 'paused' },
    ])
  })

  it('P1: what retention may have deleted is not taken for missed', async () => {
    const scene = new Scene(ground())
    await paused(scene, 2 * 3_600_000)
    const now = multiple(await scene.now())
    await scene.addExecution({ fire_time: now - 3_600_000 - 30_000, state: 'succeeded' })
    expect(await resumeTask(scene.ledger, 'job', readSchedule)).toBe(true)
    expect((await scene.executions()).filter(({ state }) => state === 'missed')).toMatchObject([{ missed_from: now - 3_600_000 - 29_000, error_code: 'paused' }])
  })

  it('P1: without a fire time in between, or without a schedule that this build can read, there is no record', async () => {
    const hour = 3_600_000
    const scene = new Scene(ground())
    const now = await scene.now()
    const armedFrom = now - 60_000
    await scene.addTask('job', { spec: `${hour}`, state: 'paused', armed_from: armedFrom })
    const newest = Math.floor(now / hour) * hour
    await scene.addExecution({ fire_time: newest + hour, state: 'pending' }) // claimed early
    await scene.addExecution({ fire_time: newest, state: 'succeeded' })
    expect(await resumeTask(scene.ledger, 'job', readSchedule)).toBe(true)
    await scene.addTask('another', { spec: '1000', state: 'paused', armed_from: armedFrom })
    const nothing: ScheduleReader = () => null
    expect(await resumeTask(scene.ledger, 'another', nothing)).toBe(true)
    expect((await scene.executions()).filter(({ state }) => state === 'missed')).toEqual([])
    for (const name of ['job', 'another']) expect((await scene.task(name))['armed_from']).toBeGreaterThanOrEqual(now)
  })

  it('P10: a retired or unknown task is no answer but an error that says what to do', async () => {
    const scene = new Scene(ground())
    await scene.addTask('gone', { state: 'retired', state_reason: 'revision 7 no longer has it' })
    for (const work of [() => resumeTask(scene.ledger, 'gone', readSchedule), () => pauseTask(scene.ledger, 'gone', undefined)]) await expect(work()).rejects.toThrow(/SCHED_TASK_UNKNOWN.*revision 7 no longer has it.*higher revision/s)
    await expect(resumeTask(scene.ledger, 'never', readSchedule)).rejects.toThrow(/SCHED_TASK_UNKNOWN/)
  })

  it('P1: a schedule set at run time records what the one before had left; the same fire times leave armed_from alone', async () => {
    const scene = new Scene(ground())
    const armedFrom = await scene.now() - 10_000
    await scene.addTask('job', { spec: '1000', armed_from: armedFrom })
    const override = async (to: string | null, newHash: string): Promise<boolean> => {
      const task = await readTask(scene.ledger, 'job')
      if (task === undefined) throw new Error('not found')
      return overrideSchedule(scene.ledger, task, to, newHash, readSchedule)
    }
    expect(await override('1000', otherHash)).toBe(true)
    expect(await scene.task()).toMatchObject({ armed_from: armedFrom, override_spec: '1000', definition_hash: otherHash })
    expect(await scene.executions()).toEqual([])
    expect(await override('3000', hash)).toBe(true)
    const [record] = await scene.executions()
    expect(record).toMatchObject({ missed_from: multiple(armedFrom) + 1000, error_code: 'redefined' })
    expect(record?.['missed_count']).toBe(((record?.['fire_time'] as number) - multiple(armedFrom)) / 1000)
    // Whoever read the definition before it changed is refused.
    const stale = await readTask(scene.ledger, 'job')
    expect(await override(null, otherHash)).toBe(true)
    expect(await overrideSchedule(scene.ledger, { ...stale!, definitionHash: hash }, '2000', hash, readSchedule)).toBe(false)
  })

  it.each([['leaves the schedule alone keeps armed_from and writes nothing', '1000', []], ['changes it records what the old one had left', '7000', ['redefined']]] as const)('P1: a definition that %s', async (_, spec, codes) => {
    const scene = new Scene(ground())
    const armedFrom = await scene.now() - 10_000
    await scene.addTask('job', { spec: '1000', armed_from: armedFrom })
    await registerTasks(scene.ledger, [{ taskName: 'job', definitionHash: () => otherHash, spec, readSchedule }], { nodeId: 'n', revision: 1 })
    const task = await scene.task()
    expect(task).toMatchObject({ definition_hash: otherHash, spec })
    expect((task['armed_from'] as number) > armedFrom).toBe(codes.length > 0)
    expect((await scene.executions()).map((row) => row['error_code'])).toEqual(codes)
  })

  it('P1: a slot that is claimed at the same moment is looked at again', async () => {
    const scene = new Scene(ground())
    await paused(scene, 60_000)
    const claimed = multiple(await scene.now())
    await scene.addExecution({ fire_time: claimed, state: 'running' })
    let looks = 0
    const claiming: ScheduleReader = (definition) => {
      const { key, schedule } = readSchedule(definition) as NonNullable<ReturnType<ScheduleReader>>
      looks += 1
      let asked = 0
      // The first look does not see the slot, as if it had been claimed right after it.
      return { key, schedule: looks > 1 ? schedule : { ...schedule, next: (after) => (after >= claimed && (asked += 1) === 1 ? claimed : null), previous: () => claimed } }
    }
    expect(await resumeTask(scene.ledger, 'job', claiming)).toBe(true)
    expect(looks).toBe(2)
    expect(await scene.task()).toMatchObject({ state: 'active' })
  })
})
