import { randomUUID } from 'node:crypto'
import { describeServer } from '@sched-dev/databases'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { carryOn, replaceUncarried, uncarriedTasks } from '../../src/ledger/adopt.ts'
import { migrate } from '../../src/ledger/migrate.ts'
import { settleMissed } from '../../src/ledger/missed.ts'
import { startExecution } from '../../src/ledger/start.ts'
import { sweep, type SweepRequest } from '../../src/ledger/sweep.ts'
import { readTasks, registerTasks } from '../../src/ledger/tasks.ts'
import type { StoreSession } from '../../src/session/store-session.ts'
import { hash, Scene } from './scene.ts'
import { emptyPostgres, StoreGround } from './store-ground.ts'

/** The row-lock limit is 150 ms; the rest is slack for a loaded machine. Without the limit it would wait for as long as a statement may take. */
const soonMs = 6_000

/** Row locks, which SQLite does not have: there a frozen writer stops every writer. */
describeServer('postgres', ({ url }) => {
  let ground: StoreGround
  beforeAll(async () => {
    ground = new StoreGround(await emptyPostgres(url))
    await migrate(ground.migration())
  })
  afterAll(async () => { await ground.end() })

  /** Runs `during` while an open transaction of somebody else holds the row. */
  async function whileLocked<T>(scene: Scene, table: string, where: string, during: () => Promise<T>): Promise<T> {
    const blocker: StoreSession = ground.session('blocker')
    return blocker.block('holding a row', async (sql) => {
      await sql.run({ text: `SELECT 1 AS x FROM ${table} WHERE namespace = ? AND ${where} FOR UPDATE`, params: [scene.namespace] })
      return { commit: false, value: await during() }
    })
  }

  const sweepOf = (nodeId: string): SweepRequest => ({ nodeId, owners: () => new Set(), rule: () => ({ recover: true, stall: false, maxCrashes: 3 }) })

  it('P6: a sweep reports a locked row, goes on with the others, and settles it when it is free', async () => {
    const scene = new Scene(ground)
    const [me, dead] = [await scene.addNode(), await scene.addNode({ state: 'dead' })]
    const locked = await scene.addExecutionIn('running', dead, { fire_time: 1 })
    const free = await scene.addExecutionIn('running', dead, { fire_time: 2 })
    const report = await whileLocked(scene, scene.ledger.tables.executions, `execution_id = '${locked.executionId}'`, () => sweep(scene.ledger, sweepOf(me)))
    expect(report.blocked).toEqual([locked.executionId])
    expect(report.recovered.map(({ executionId }) => executionId)).toEqual([free.executionId])
    expect((await sweep(scene.ledger, sweepOf(me))).recovered.map(({ executionId }) => executionId)).toEqual([locked.executionId])
  })

  it('P6: a locked gate is reported too, and the sweep goes on', async () => {
    const scene = new Scene(ground)
    const me = await scene.addNode()
    await scene.addTask('held', { gate_owner: 'a', gate_node: 'gone' })
    await scene.addTask('free', { gate_owner: 'b', gate_node: 'gone' })
    const report = await whileLocked(scene, scene.ledger.tables.tasks, `task_name = 'held'`, () => sweep(scene.ledger, sweepOf(me)))
    expect(report.blocked).toEqual(['gate of held'])
    expect(await scene.task('free')).toMatchObject({ gate_owner: null })
    await sweep(scene.ledger, sweepOf(me))
    expect(await scene.task('held')).toMatchObject({ gate_owner: null })
  })

  it('P2: a start that meets a locked task row takes it for busy, within the row-lock limit', async () => {
    const scene = new Scene(ground)
    await scene.addTask()
    const nodeId = await scene.addNode()
    const executionId = await scene.addExecution()
    const began = performance.now()
    expect(await whileLocked(scene, scene.ledger.tables.tasks, `task_name = 'job'`, () => startExecution(scene.ledger, scene.startRequest(executionId, nodeId)))).toEqual({ status: 'busy' })
    expect(performance.now() - began).toBeLessThan(soonMs)
    expect(await startExecution(scene.ledger, scene.startRequest(executionId, nodeId))).toMatchObject({ status: 'started' })
  })

  const registration = (taskName: string, of: string) => ({ taskName, definitionHash: () => of.repeat(64), spec: '{}', readSchedule: () => null })
  const errorOf = (work: Promise<unknown>): Promise<unknown> => work.then(() => undefined, (error: unknown) => error)
  const locked = <T>(scene: Scene, taskName: string, during: () => Promise<T>) => whileLocked(scene, scene.ledger.tables.tasks, `task_name = '${taskName}'`, during)

  it('P6: a deployment that changes nothing boots while somebody holds a row; its revision counts for the others at once', async () => {
    const scene = new Scene(ground)
    const tasks = Array.from({ length: 30 }, (_, index) => registration(`t${index}`, 'a'))
    await registerTasks(scene.ledger, tasks, { nodeId: await scene.addNode({ revision: 1 }), revision: 1 })
    const newer = { nodeId: await scene.addNode({ revision: 2 }), revision: 2 }
    const outcomes = await locked(scene, 't7', () => registerTasks(scene.ledger, tasks, newer))
    expect([...outcomes.values()].every((outcome) => outcome === 'current')).toBe(true)
    const behind = async () => [...(await readTasks(scene.ledger)).values()].filter(({ revision }) => revision < 2).map(({ taskName }) => taskName)
    expect(await behind()).toEqual(['t7'])
    await registerTasks(scene.ledger, tasks, newer)
    expect(await behind()).toEqual([])
  })

  /** Thirty tasks of a dead node, as a node that is to carry them on finds them. */
  async function thirtyLeftBehind(scene: Scene) {
    const dead = await scene.addNode({ state: 'dead' })
    for (let index = 0; index < 30; index += 1) await scene.addTask(`t${index}`, { defined_by: dead })
    return { me: { nodeId: await scene.addNode(), revision: 0 }, found: await uncarriedTasks(scene.ledger) }
  }

  it('P6: a node carries on what it can while somebody holds one of the rows, and that one when it is free', async () => {
    const scene = new Scene(ground)
    const { found, me } = await thirtyLeftBehind(scene)
    await locked(scene, 't7', () => carryOn(scene.ledger, found, me))
    expect((await uncarriedTasks(scene.ledger)).map(({ taskName }) => taskName)).toEqual(['t7'])
    await carryOn(scene.ledger, await uncarriedTasks(scene.ledger), me)
    expect(await uncarriedTasks(scene.ledger)).toEqual([])
  })

  it('P6: where many rows are held the node does not wait for each of them', async () => {
    const scene = new Scene(ground)
    const { found, me } = await thirtyLeftBehind(scene)
    expect(await whileLocked(scene, scene.ledger.tables.tasks, `task_name <> 't29'`, () => errorOf(carryOn(scene.ledger, found, me)))).toMatchObject({ code: 'SCHED_CONTENDED' })
    expect(await uncarriedTasks(scene.ledger)).toHaveLength(30)
  })

  it('P6: a definition that nobody carries is left alone while somebody holds its row, and replaced when it is free', async () => {
    const scene = new Scene(ground)
    await scene.addTask('job', { defined_by: 'dead' })
    const [found] = await uncarriedTasks(scene.ledger)
    if (found === undefined) throw new Error('not found')
    const me = { nodeId: await scene.addNode(), revision: 0 }
    expect(await locked(scene, 'job', () => replaceUncarried(scene.ledger, found, registration('job', 'b'), me))).toBe(false)
    expect(await replaceUncarried(scene.ledger, found, registration('job', 'b'), me)).toBe(true)
  })

  it('P6: a scan meets a locked task row and says so within the row-lock limit, so that the other tasks get their turn', async () => {
    const scene = new Scene(ground)
    const armedFrom = await scene.now() - 600_000
    await scene.addTask('job', { armed_from: armedFrom })
    const request = { taskName: 'job', definitionHash: hash, armedFrom, fireTimes: [armedFrom + 1], catchUp: () => [], stall: false, newId: randomUUID }
    const began = performance.now()
    expect(await locked(scene, 'job', () => errorOf(settleMissed(scene.ledger, request)))).toMatchObject({ code: 'SCHED_CONTENDED' })
    expect(performance.now() - began).toBeLessThan(soonMs)
    expect(await settleMissed(scene.ledger, request)).toMatchObject({ missed: 1 })
  })
})
