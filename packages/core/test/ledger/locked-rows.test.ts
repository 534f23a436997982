import { describeServer } from '@sched-dev/databases'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { migrate } from '../../src/ledger/migrate.ts'
import { startExecution } from '../../src/ledger/start.ts'
import { sweep, type SweepRequest } from '../../src/ledger/sweep.ts'
import type { StoreSession } from '../../src/session/store-session.ts'
import { Scene } from './scene.ts'
import { emptyPostgres, StoreGround } from './store-ground.ts'

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
    // The limit is 150 ms; the rest is slack for a loaded machine. Without a limit it would wait for ever.
    expect(performance.now() - began).toBeLessThan(3_000)
    expect(await startExecution(scene.ledger, scene.startRequest(executionId, nodeId))).toMatchObject({ status: 'started' })
  })
})
