import { expect, it } from 'vitest'
import { cancelExecution } from '../../src/ledger/operate.ts'
import { sweep, type RecoveryRule, type SweepRequest } from '../../src/ledger/sweep.ts'
import { startExecution } from '../../src/ledger/start.ts'
import type { StoreSession } from '../../src/session/store-session.ts'
import type { Statement } from '../../src/spi/sql-session.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const retryThrice: RecoveryRule = { recover: true, stall: false, maxCrashes: 3 }

function request(nodeId: string, owners: Iterable<string> = [], rule: RecoveryRule = retryThrice): SweepRequest {
  const known = new Set(owners)
  return { nodeId, owners: () => known, rule: () => rule }
}

/** A node that died while it ran `job`. */
async function crashed(scene: Scene, columns: Record<string, number> = {}) {
  const dead = await scene.addNode({ state: 'dead' })
  const key = await scene.addExecutionIn('running', dead, columns)
  await scene.addTask('job', { gate_owner: key.owner, gate_node: dead })
  return { dead, key }
}

describeStores('sweep (statement W)', (ground) => {
  it('P6: R1 declares lapsed nodes dead, and no others', async () => {
    const scene = new Scene(ground())
    const [me, lapsed, long] = [await scene.addNode(), await scene.addNode({ lease_until: 1 }), await scene.addNode({ state: 'dead' })]
    expect((await sweep(scene.ledger, request(me))).dead).toEqual([lapsed])
    expect((await scene.node(lapsed))['state']).toBe('dead')
    expect((await scene.node(me))['state']).toBe('alive')
    expect((await sweep(scene.ledger, request(me))).dead).toEqual([])
    expect((await scene.node(long))['state']).toBe('dead')
  })

  it('P6: R2 gives the execution of a dead node to whoever comes, its gate free, its crash counted', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    const before = await scene.now()
    expect(await sweep(scene.ledger, request(me))).toMatchObject({ recovered: [{ executionId: key.executionId, taskName: 'job', state: 'retry', crashCount: 1 }], blocked: [] })
    const row = await scene.execution(key.executionId)
    expect(row).toMatchObject({ state: 'retry', attempt_reason: 'recovered', owner: null, node_id: null, crash_count: 1, attempt: 1 })
    expect(row['due_at']).toBeGreaterThanOrEqual(before)
    expect(await scene.task()).toMatchObject({ gate_owner: null, gate_node: null })
    expect(await startExecution(scene.ledger, scene.startRequest(key.executionId, me))).toMatchObject({ status: 'started', attempt: 2 })
  })

  it('P6: what a person asked for stays by hand when it is recovered', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    await scene.query(`UPDATE ${scene.ledger.tables.executions} SET attempt_reason = 'manual' WHERE execution_id = ?`, [key.executionId])
    expect((await sweep(scene.ledger, request(me))).recovered).toMatchObject([{ state: 'retry' }])
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'retry', attempt_reason: 'manual', crash_count: 1 })
  })

  it('P6: R1 and R2 happen in the same sweep', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const lapsed = await scene.addNode({ lease_until: 1 })
    await scene.addTask()
    await scene.addExecutionIn('running', lapsed)
    expect(await sweep(scene.ledger, request(me))).toMatchObject({ dead: [lapsed], recovered: [{ state: 'retry' }] })
  })

  it('P2: what a live node runs is left alone, and so is its gate', async () => {
    const scene = new Scene(ground())
    const [me, other] = [await scene.addNode(), await scene.addNode()]
    const key = await scene.addExecutionIn('running', other)
    await scene.addTask('job', { gate_owner: key.owner, gate_node: other })
    expect(await sweep(scene.ledger, request(me))).toEqual({ dead: [], recovered: [], blocked: [] })
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'running', owner: key.owner })
    expect(await scene.task()).toMatchObject({ gate_owner: key.owner })
  })

  it('P6: crashes add up, and a poison task ends as failed', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene, { crash_count: 1 })
    expect((await sweep(scene.ledger, request(me))).recovered).toMatchObject([{ state: 'retry', crashCount: 2 }])
    await scene.query(`UPDATE ${scene.ledger.tables.executions} SET state = 'running', owner = 'o', node_id = 'gone' WHERE execution_id = ?`, [key.executionId])
    expect((await sweep(scene.ledger, request(me))).recovered).toMatchObject([{ state: 'failed', crashCount: 3 }])
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_POISON', crash_count: 3 })
  })

  it('P6: recovery "fail" fails the execution and frees the gate', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    expect((await sweep(scene.ledger, request(me, [], { recover: false, stall: false, maxCrashes: 3 }))).recovered).toMatchObject([{ state: 'failed' }])
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'failed', error_code: 'SCHED_LEASE_LOST' })
    expect(await scene.task()).toMatchObject({ gate_owner: null })
  })

  it('P6: recovery "stall" fails the execution and stalls the task, for a person to look at', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    expect((await sweep(scene.ledger, request(me, [], { recover: false, stall: true, maxCrashes: 3 }))).recovered).toMatchObject([{ state: 'failed', stalled: true }])
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'failed' })
    const task = await scene.task()
    expect(task).toMatchObject({ state: 'stalled', gate_owner: null })
    expect(task['state_reason']).toContain(key.executionId)
  })

  it('P6: recovery "stall" stalls a paused task too, and says only then that it did', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { dead, key } = await crashed(scene)
    const second = await scene.addExecutionIn('running', dead, { fire_time: 1 })
    await scene.query(`UPDATE ${scene.ledger.tables.tasks} SET state = 'paused', state_reason = 'stocktaking' WHERE namespace = ?`, [scene.namespace])
    const { recovered } = await sweep(scene.ledger, request(me, [], { recover: false, stall: true, maxCrashes: 3 }))
    expect(recovered.map(({ stalled }) => stalled).sort()).toEqual([false, true])
    expect(await scene.task()).toMatchObject({ state: 'stalled', state_reason: expect.stringMatching(/^execution .* It was paused before: stocktaking$/) as string })
    for (const { executionId } of [key, second]) expect(await scene.execution(executionId)).toMatchObject({ state: 'failed' })
  })

  it('P6: recovery "stall" leaves a retired task alone', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    await crashed(scene)
    await scene.query(`UPDATE ${scene.ledger.tables.tasks} SET state = 'retired' WHERE namespace = ?`, [scene.namespace])
    expect((await sweep(scene.ledger, request(me, [], { recover: false, stall: true, maxCrashes: 3 }))).recovered).toMatchObject([{ state: 'failed', stalled: false }])
    expect(await scene.task()).toMatchObject({ state: 'retired' })
  })

  it.each([['before the sweep looks', 'looking for orphaned executions'], ['after it has looked', 'recovering an execution']])('P6: an execution that was asked to end %s is not run again when its node dies', async (_, moment) => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    const { store } = scene.ledger
    const cancelAt = async (what: string): Promise<void> => { if (what === moment) expect(await cancelExecution(scene.neighbour(), key.executionId, 'enough.')).toBe('requested') }
    const cancelled = {
      run: async (what: string, statement: Statement) => { await cancelAt(what); return store.run(what, statement) },
      block: async (what: string, ...rest: [never, never]) => { await cancelAt(what); return store.block(what, ...rest) },
    } as unknown as StoreSession
    expect((await sweep(scene.ledgerOn(cancelled), request(me))).recovered).toMatchObject([{ executionId: key.executionId, state: 'failed', errorCode: 'SCHED_TASK_CANCELLED', crashCount: 1 }])
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_CANCELLED', owner: null, crash_count: 1 })
    expect(await scene.task()).toMatchObject({ gate_owner: null })
  })

  it('P6: the rule comes from the definition in the ledger', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    await scene.query(`UPDATE ${scene.ledger.tables.tasks} SET spec = 'the spec' WHERE namespace = ?`, [scene.namespace])
    const asked: (string | null)[] = []
    await sweep(scene.ledger, { ...request(me), rule: (spec) => { asked.push(spec); return retryThrice } })
    expect(asked).toEqual(['the spec'])
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'retry' })
  })

  it('P6: R3 recovers a running row of this node that it knows nothing of, and none that it knows', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const known = await scene.addExecutionIn('running', me, { fire_time: 1 })
    const unknown = await scene.addExecutionIn('running', me, { fire_time: 2 })
    await scene.addTask('job', { gate_owner: unknown.owner, gate_node: me })
    expect((await sweep(scene.ledger, request(me, [known.owner]))).recovered.map(({ executionId }) => executionId)).toEqual([unknown.executionId])
    expect(await scene.execution(known.executionId)).toMatchObject({ state: 'running' })
    expect(await scene.task()).toMatchObject({ gate_owner: null })
  })

  it('P6: R4 frees gates whose row has ended: of dead nodes, and of owners this node does not know', async () => {
    const scene = new Scene(ground())
    const [me, alive, dead] = [await scene.addNode(), await scene.addNode(), await scene.addNode({ state: 'dead' })]
    await scene.addTask('of-dead', { gate_owner: 'a', gate_node: dead })
    await scene.addTask('of-gone', { gate_owner: 'b', gate_node: 'gone' })
    await scene.addTask('of-alive', { gate_owner: 'c', gate_node: alive })
    await scene.addTask('mine-known', { gate_owner: 'd', gate_node: me })
    await scene.addTask('mine-unknown', { gate_owner: 'e', gate_node: me })
    await sweep(scene.ledger, request(me, ['d']))
    const owners = await Promise.all(['of-dead', 'of-gone', 'of-alive', 'mine-known', 'mine-unknown'].map(async (name) => (await scene.task(name))['gate_owner']))
    expect(owners).toEqual([null, null, 'c', 'd', null])
  })

  it('P2: two sweeps at once recover a row once', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    const reports = await Promise.all(Array.from({ length: 5 }, () => sweep(scene.neighbour(), request(me))))
    expect(reports.flatMap(({ recovered }) => recovered)).toHaveLength(1)
    expect(await scene.execution(key.executionId)).toMatchObject({ crash_count: 1 })
  })

  it.each(['owner', 'fencing_token', 'state'])('P7: recovery does not touch a row whose %s has changed since it was seen', async (column) => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    const changed = { owner: 'successor', fencing_token: 9, state: 'succeeded' }[column] as string | number
    const { store } = scene.ledger
    // Between the look and the write another instance is faster.
    const overtaken = {
      run: (what: string, statement: Statement) => store.run(what, statement),
      block: async (what: string, ...rest: [never, never]) => {
        if (what === 'recovering an execution') await scene.query(`UPDATE ${scene.ledger.tables.executions} SET ${column} = ? WHERE execution_id = ?`, [changed, key.executionId])
        return store.block(what, ...rest)
      },
    } as unknown as StoreSession
    expect(await sweep(scene.ledgerOn(overtaken), request(me))).toMatchObject({ recovered: [], blocked: [] })
    expect(await scene.execution(key.executionId)).toMatchObject({ crash_count: 0, [column]: changed })
  })

  it('P6: a sweep that is cut off after a recovery leaves no gate behind', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const { key } = await crashed(scene)
    const { store } = scene.ledger
    const cutOff = {
      run: (what: string, statement: Statement) => (what === 'looking for orphaned gates' ? Promise.reject(new Error('cut off')) : store.run(what, statement)),
      block: (...call: Parameters<typeof store.block>) => store.block(...call),
    } as unknown as StoreSession
    await expect(sweep(scene.ledgerOn(cutOff), request(me))).rejects.toThrow('cut off')
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'retry' })
    expect(await scene.task()).toMatchObject({ gate_owner: null, gate_node: null })
  })

  it('P6: it looks at its own namespace only', async () => {
    const [scene, other] = [new Scene(ground()), new Scene(ground())]
    const { key } = await crashed(other)
    expect(await sweep(scene.ledger, request(await scene.addNode()))).toEqual({ dead: [], recovered: [], blocked: [] })
    expect(await other.execution(key.executionId)).toMatchObject({ state: 'running' })
  })
})
