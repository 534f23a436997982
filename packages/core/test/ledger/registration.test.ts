import { expect, it, vi } from 'vitest'
import { carryOn, replaceUncarried, uncarriedTasks } from '../../src/ledger/adopt.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { ScheduleReader } from '../../src/ledger/stored-task.ts'
import { readTasks, registerTasks, type RegistrationOutcome } from '../../src/ledger/tasks.ts'
import { compileSchedule } from '../../src/schedule/schedule.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const definition = (letter: string): string => letter.repeat(64)
/** Each spec is a schedule of its own that never fires; with a number it is a period. */
const readSchedule: ScheduleReader = ({ spec, override }) => ({ key: override ?? spec, schedule: compileSchedule(/\d/.test(spec) ? { everyMs: Number(/\d+/.exec(spec)?.[0]) } : { cron: '0 0 1 1 *', startAt: 1, endAt: 2 }) })

async function register(ledger: Ledger, letter: string, node: { nodeId: string; revision: number }, taskName = 'job'): Promise<RegistrationOutcome | undefined> {
  const outcomes = await registerTasks(ledger, [{ taskName, definitionHash: () => definition(letter), spec: `{"of":"${letter}"}`, readSchedule }], node)
  return outcomes.get(taskName)
}

async function registry(scene: Scene): Promise<unknown> {
  const [row] = await scene.query(`SELECT meta_value FROM ${scene.ledger.tables.meta} WHERE namespace = ? AND meta_key = 'registry'`, [scene.namespace])
  return row?.['meta_value']
}

describeStores('registration', (ground) => {
  it('P6: a new task is active, and has missed nothing before now', async () => {
    const scene = new Scene(ground())
    const before = await scene.now()
    expect(await register(scene.ledger, 'a', { nodeId: 'n', revision: 4 })).toBe('created')
    const row = (await readTasks(scene.ledger)).get('job')
    expect(row).toMatchObject({ definitionHash: definition('a'), revision: 4, state: 'active' })
    expect(row?.armedFrom).toBeGreaterThanOrEqual(before)
    expect(row?.armedFrom).toBeLessThanOrEqual(await scene.now())
  })

  it('P12: the same definition again writes nothing, and wakes nobody', async () => {
    const scene = new Scene(ground())
    await register(scene.ledger, 'a', { nodeId: 'n', revision: 0 })
    const [task, value] = [await scene.task(), await registry(scene)]
    expect(await register(scene.ledger, 'a', { nodeId: 'm', revision: 0 })).toBe('current')
    expect([await scene.task(), await registry(scene)]).toEqual([task, value])
  })

  it('P1: a higher revision replaces the definition, arms it from now and changes the registry', async () => {
    const scene = new Scene(ground())
    await register(scene.ledger, 'a', { nodeId: 'n', revision: 1 })
    await scene.query(`UPDATE ${scene.ledger.tables.tasks} SET armed_from = 5 WHERE namespace = ?`, [scene.namespace])
    const [before, value] = [await scene.now(), await registry(scene)]
    expect(await register(scene.ledger, 'b', { nodeId: 'm', revision: 2 })).toBe('replaced')
    expect(await scene.task()).toMatchObject({ definition_hash: definition('b'), revision: 2, spec: '{"of":"b"}' })
    expect((await scene.task())['armed_from']).toBeGreaterThanOrEqual(before)
    expect(await registry(scene)).not.toBe(value)
  })

  it('P1: with equal revisions the later boot rules', async () => {
    const scene = new Scene(ground())
    const old = await scene.addNode()
    await register(scene.ledger, 'a', { nodeId: old, revision: 0 })
    expect(await register(scene.ledger, 'b', { nodeId: await scene.addNode(), revision: 0 })).toBe('replaced')
    expect(await scene.task()).toMatchObject({ definition_hash: definition('b') })
  })

  it('P1: a lower revision is superseded while a live node carries the higher one', async () => {
    const scene = new Scene(ground())
    const newer = await scene.addNode({ revision: 2 })
    await register(scene.ledger, 'b', { nodeId: newer, revision: 2 })
    expect(await register(scene.ledger, 'a', { nodeId: await scene.addNode({ revision: 1 }), revision: 1 })).toBe('superseded')
    expect(await scene.task()).toMatchObject({ definition_hash: definition('b'), revision: 2 })
  })

  it.each([['dead', { state: 'dead' }], ['lapsed', { lease_until: 1 }]] as const)('P6: a higher revision whose only node is %s is replaced: a rollback works', async (_, columns) => {
    const scene = new Scene(ground())
    await register(scene.ledger, 'b', { nodeId: await scene.addNode({ revision: 2, ...columns }), revision: 2 })
    expect(await register(scene.ledger, 'a', { nodeId: await scene.addNode({ revision: 1 }), revision: 1 })).toBe('replaced')
    expect(await scene.task()).toMatchObject({ definition_hash: definition('a'), revision: 1 })
  })

  it('P1: the same definition under a higher revision is current, and the revision counts from then on', async () => {
    const scene = new Scene(ground())
    await register(scene.ledger, 'a', { nodeId: 'n', revision: 1 })
    const armedFrom = (await scene.task())['armed_from']
    expect(await register(scene.ledger, 'a', { nodeId: await scene.addNode({ revision: 3 }), revision: 3 })).toBe('current')
    expect(await scene.task()).toMatchObject({ revision: 3, armed_from: armedFrom })
    expect(await register(scene.ledger, 'b', { nodeId: 'm', revision: 2 })).toBe('superseded')
  })

  it('P6: what waits of a removed task ends with it, however much; what runs, what has ended and what other tasks wait for is left alone', async () => {
    const scene = new Scene(ground())
    await register(scene.ledger, 'a', { nodeId: 'n', revision: 1 })
    await register(scene.ledger, 'a', { nodeId: 'n', revision: 1 }, 'kept')
    for (let index = 0; index < 130; index += 1) await scene.addExecution({ state: index % 2 === 0 ? 'pending' : 'retry', fire_time: index })
    const others = [await scene.addExecution({ task_name: 'kept' }), (await scene.addExecutionIn('running', 'n', { fire_time: 1000 })).executionId, await scene.addExecution({ state: 'succeeded', fire_time: 1001 })]
    const before = await Promise.all(others.map((id) => scene.execution(id)))
    expect(await register(scene.ledger, 'a', { nodeId: 'm', revision: 2 }, 'kept')).toBe('current')
    const rows = (await scene.executions()).filter((row) => !others.includes(row['execution_id'] as string))
    expect(rows).toHaveLength(130)
    for (const row of rows) expect(row).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_RETIRED', finished_at: expect.any(Number) as number })
    expect(await Promise.all(others.map((id) => scene.execution(id)))).toEqual(before)
  })

  it('P6: a tombstone names who set it, and gives way when its revision is gone', async () => {
    const scene = new Scene(ground())
    await register(scene.ledger, 'a', { nodeId: 'n', revision: 1 })
    const newer = await scene.addNode({ revision: 2 })
    await register(scene.ledger, 'a', { nodeId: newer, revision: 2 }, 'another')
    expect(await scene.task()).toMatchObject({ state: 'retired', defined_by: newer, revision: 2 })
    const me = { nodeId: await scene.addNode({ revision: 1 }), revision: 1 }
    expect(await register(scene.ledger, 'a', me)).toBe('superseded')
    expect((await uncarriedTasks(scene.ledger)).filter(({ retired }) => retired)).toEqual([])
    await scene.query(`UPDATE ${scene.ledger.tables.nodes} SET state = 'dead' WHERE namespace = ? AND node_id = ?`, [scene.namespace, newer])
    expect((await uncarriedTasks(scene.ledger)).filter(({ retired }) => retired)).toMatchObject([{ taskName: 'job', revision: 2, definedBy: newer }])
    expect(await register(scene.ledger, 'a', me)).toBe('replaced')
    expect(await scene.task()).toMatchObject({ state: 'active', defined_by: me.nodeId, revision: 1 })
  })

  it('P6: a tombstone that nobody carries gives way to an old instance, but for a live one of its revision', async () => {
    const scene = new Scene(ground())
    const me = { nodeId: await scene.addNode({ revision: 1 }), revision: 1 }
    await scene.addTask('job', { state: 'retired', revision: 2, defined_by: 'dead' })
    const [tombstone] = await uncarriedTasks(scene.ledger)
    if (tombstone === undefined) throw new Error('not found')
    const other = await scene.addNode({ revision: 2 })
    const registration = { taskName: 'job', definitionHash: () => definition('a'), spec: '{"of":"a"}', readSchedule }
    expect(await replaceUncarried(scene.ledger, tombstone, registration, me)).toBe(false)
    await scene.query(`UPDATE ${scene.ledger.tables.nodes} SET lease_until = 1 WHERE namespace = ? AND node_id = ?`, [scene.namespace, other])
    expect(await replaceUncarried(scene.ledger, tombstone, registration, me)).toBe(true)
    expect(await scene.task()).toMatchObject({ state: 'active', defined_by: me.nodeId, revision: 1, definition_hash: definition('a') })
    expect(await replaceUncarried(scene.ledger, tombstone, registration, me)).toBe(false)
  })

  it('P1: an older instance replaces no newer definition while a live instance of that revision is there, though nobody carries it', async () => {
    const scene = new Scene(ground())
    const me = { nodeId: await scene.addNode({ revision: 1 }), revision: 1 }
    await scene.addTask('job', { revision: 2, defined_by: 'dead' })
    const [found] = await uncarriedTasks(scene.ledger)
    if (found === undefined) throw new Error('not found')
    const other = await scene.addNode({ revision: 2 })
    const registration = { taskName: 'job', definitionHash: () => definition('b'), spec: '{"of":"b"}', readSchedule }
    expect(await replaceUncarried(scene.ledger, found, registration, me)).toBe(false)
    expect(await scene.task()).toMatchObject({ revision: 2, defined_by: 'dead' })
    await scene.query(`UPDATE ${scene.ledger.tables.nodes} SET lease_until = 1 WHERE namespace = ? AND node_id = ?`, [scene.namespace, other])
    expect(await replaceUncarried(scene.ledger, found, registration, me)).toBe(true)
    expect(await scene.task()).toMatchObject({ revision: 1, defined_by: me.nodeId, definition_hash: definition('b') })
  })

  it('P12: a new build that changes nothing raises the revisions in batches; a lower one is told so without a statement per task', async () => {
    const scene = new Scene(ground())
    await registerTasks(scene.ledger, many(250), { nodeId: await scene.addNode(), revision: 1 })
    const statements = vi.spyOn(scene.ledger.store, 'run')
    const blocks = vi.spyOn(scene.ledger.store, 'block')
    const newer = { nodeId: await scene.addNode({ revision: 2 }), revision: 2 }
    expect([...(await registerTasks(scene.ledger, many(250), newer)).values()].filter((outcome) => outcome === 'current')).toHaveLength(250)
    expect([...(await readTasks(scene.ledger)).values()].filter(({ revision }) => revision === 2)).toHaveLength(250)
    const older = many(250).map((task) => ({ ...task, definitionHash: () => definition('b') }))
    expect([...(await registerTasks(scene.ledger, older, { nodeId: 'old', revision: 1 })).values()].filter((outcome) => outcome === 'superseded')).toHaveLength(250)
    // So does a later life with the same revision that finds another build's definitions.
    expect([...(await registerTasks(scene.ledger, older, { nodeId: await scene.addNode({ revision: 2 }), revision: 2, again: true })).values()].filter((outcome) => outcome === 'superseded')).toHaveLength(250)
    expect(statements.mock.calls.length).toBeLessThan(20)
    expect(blocks).not.toHaveBeenCalled()
  })

  it('P2: a changed definition leaves the gate, the token and the state as they are', async () => {
    const scene = new Scene(ground())
    await scene.addTask('job', { gate_owner: 'o', gate_node: 'n', fencing_token: 99, state: 'paused', definition_hash: definition('a') })
    expect(await register(scene.ledger, 'b', { nodeId: 'm', revision: 1 })).toBe('replaced')
    expect(await scene.task()).toMatchObject({ gate_owner: 'o', gate_node: 'n', fencing_token: 99, state: 'paused' })
  })

  it('P1: ten registrations at once, on ten sessions, create each task once', async () => {
    const scene = new Scene(ground())
    const tasks = ['a', 'b', 'c', 'd', 'e'].map((taskName) => ({ taskName, definitionHash: () => definition(taskName), spec: '{}', readSchedule }))
    const all = await Promise.all(Array.from({ length: 10 }, (_, index) => registerTasks(scene.neighbour({ rowLockMs: 10_000 }), tasks, { nodeId: `n${index}`, revision: 0 })))
    for (const { taskName } of tasks) {
      const outcomes = all.map((outcome) => outcome.get(taskName))
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1)
      expect(outcomes.filter((outcome) => outcome === 'current')).toHaveLength(9)
    }
    expect((await readTasks(scene.ledger)).size).toBe(5)
  })

  const many = (count: number, from = 0, spec = '{}') => Array.from({ length: count }, (_, index) => ({ taskName: `task ${from + index}`, definitionHash: () => definition('c'), spec, readSchedule }))

  it('P12: a large schedule is registered a batch a statement, long definitions by themselves, and what is there already stays', async () => {
    const scene = new Scene(ground())
    await register(scene.ledger, 'a', { nodeId: 'n', revision: 1 }, 'task 120')
    const { store } = scene.ledger
    const statements = vi.spyOn(store, 'run')
    const tasks = [...many(250), ...many(3, 250, JSON.stringify({ long: 'x'.repeat(5_000) }))]
    const outcomes = await registerTasks(scene.ledger, tasks, { nodeId: 'm', revision: 0 })
    expect(statements.mock.calls.length).toBeLessThan(15)
    expect([...outcomes.values()].filter((outcome) => outcome === 'created')).toHaveLength(252)
    expect(outcomes.get('task 120')).toBe('replaced') // the node of revision 1 is not alive
    const rows = await scene.query(`SELECT task_name, spec, revision, defined_by, state, gate_owner, armed_from, fencing_token FROM ${scene.ledger.tables.tasks} WHERE namespace = ?`, [scene.namespace])
    expect(rows).toHaveLength(253)
    for (const row of rows) expect(row).toMatchObject({ spec: tasks.find(({ taskName }) => taskName === row['task_name'])?.spec, revision: 0, defined_by: 'm', state: 'active', gate_owner: null })
    for (const row of rows) expect(row['armed_from']).toBeGreaterThan(1_700_000_000_000)
  })

  it('P1: large schedules that are registered at the same moment, and differ, are created once each', async () => {
    const scene = new Scene(ground())
    const all = await Promise.all([0, 1, 2, 3].map((index) => registerTasks(scene.neighbour({ rowLockMs: 10_000, callMs: 20_000 }), many(230, 20 * index), { nodeId: `n${index}`, revision: 0 })))
    const created = all.flatMap((outcomes) => [...outcomes].filter(([, outcome]) => outcome === 'created').map(([name]) => name))
    expect(new Set(created).size).toBe(290)
    expect(created).toHaveLength(290)
    for (const outcomes of all) for (const outcome of outcomes.values()) expect(['created', 'current']).toContain(outcome)
    expect((await readTasks(scene.ledger)).size).toBe(290)
  })

  it('P6: a node takes over all definitions of a dead carrier that it has too, and no other', async () => {
    const scene = new Scene(ground())
    const dead = await scene.addNode({ state: 'dead' })
    await registerTasks(scene.ledger, many(210), { nodeId: dead, revision: 0 })
    await register(scene.ledger, 'b', { nodeId: dead, revision: 0 }, 'another')
    const found = await uncarriedTasks(scene.ledger)
    expect(found).toHaveLength(211)
    // One of them has changed since it was looked at.
    await scene.query(`UPDATE ${scene.ledger.tables.tasks} SET definition_hash = ? WHERE namespace = ? AND task_name = 'task 7'`, [definition('d'), scene.namespace])
    const me = { nodeId: await scene.addNode(), revision: 0 }
    await carryOn(scene.ledger, found.filter(({ taskName }) => taskName !== 'another'), me)
    expect((await uncarriedTasks(scene.ledger)).map(({ taskName }) => taskName).sort()).toEqual(['another', 'task 7'])
  })
})
