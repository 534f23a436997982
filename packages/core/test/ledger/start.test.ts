import { expect, it } from 'vitest'
import { startExecution } from '../../src/ledger/start.ts'
import { otherHash, Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

describeStores('start (statement S)', (ground) => {
  it('P2: a start takes the gate, a token and the execution in one go', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const nodeId = await scene.addNode()
    const executionId = await scene.addExecution()
    const request = scene.startRequest(executionId, nodeId)
    const before = await scene.now()
    const started = await startExecution(scene.ledger, request)
    const { fencingToken } = started as { fencingToken: number }
    expect(started).toMatchObject({ status: 'started', attempt: 1 })
    expect(fencingToken).toBeGreaterThanOrEqual(before)
    expect(await scene.execution(executionId)).toMatchObject({ state: 'running', node_id: nodeId, owner: request.owner, fencing_token: fencingToken, attempt: 1 })
    expect(await scene.task()).toMatchObject({ gate_owner: request.owner, gate_node: nodeId, fencing_token: fencingToken })
  })

  it('P7: tokens of a task only grow, also when its row holds one from the future', async () => {
    const scene = new Scene(ground())
    const ahead = await scene.now() + 1_000_000
    await scene.addTask('job', { fencing_token: ahead })
    const nodeId = await scene.addNode()
    for (const step of [1, 2, 3]) {
      const request = scene.startRequest(await scene.addExecution({ fire_time: step }), nodeId, { gated: false })
      expect(await startExecution(scene.ledger, request)).toMatchObject({ status: 'started', fencingToken: ahead + step })
    }
  })

  it('P2: while the gate is taken nothing of the task starts, and nothing changes', async () => {
    const scene = new Scene(ground())
    await scene.addTask('job', { gate_owner: 'somebody', gate_node: 'elsewhere' })
    const executionId = await scene.addExecution()
    expect(await startExecution(scene.ledger, scene.startRequest(executionId, await scene.addNode()))).toEqual({ status: 'busy' })
    expect(await scene.execution(executionId)).toMatchObject({ state: 'pending', owner: null, attempt: 0 })
    expect(await scene.task()).toMatchObject({ gate_owner: 'somebody', fencing_token: 1 })
  })

  it('P2: of ten starts of different fire times of one task exactly one gets the gate', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const nodeId = await scene.addNode()
    const ids = await Promise.all(Array.from({ length: 10 }, (_, index) => scene.addExecution({ fire_time: index + 1 })))
    const outcomes = await Promise.all(ids.map((id) => startExecution(scene.neighbour(), scene.startRequest(id, nodeId))))
    expect(outcomes.filter(({ status }) => status === 'started')).toHaveLength(1)
    expect(outcomes.filter(({ status }) => status === 'busy')).toHaveLength(9)
    expect((await scene.executions()).filter(({ state }) => state === 'running')).toHaveLength(1)
  })

  it('P1: of ten starts of one execution exactly one starts it, without a gate too', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const nodeId = await scene.addNode()
    const executionId = await scene.addExecution()
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => startExecution(scene.neighbour(), scene.startRequest(executionId, nodeId, { gated: false }))))
    expect(outcomes.filter(({ status }) => status === 'started')).toHaveLength(1)
    // A row that stays locked longer than the limit counts as busy.
    for (const { status } of outcomes) expect(['started', 'moved', 'busy']).toContain(status)
    expect(await scene.execution(executionId)).toMatchObject({ state: 'running', attempt: 1 })
  })

  it.each([['paused', {}], ['stalled', {}], ['retired', {}], ['active', { definition_hash: otherHash }]] as const)('P1: a task that is %s %o starts nothing', async (state, columns) => {
    const scene = new Scene(ground())
    await scene.addTask('job', { state, ...columns })
    const executionId = await scene.addExecution()
    expect(await startExecution(scene.ledger, scene.startRequest(executionId, await scene.addNode()))).toEqual({ status: 'ineligible' })
    expect(await scene.execution(executionId)).toMatchObject({ state: 'pending' })
  })

  it.each(['paused', 'stalled'])('P6: by hand an execution of a task that is %s starts, behind the same gate', async (state) => {
    const scene = new Scene(ground())
    await scene.addTask('job', { state })
    const nodeId = await scene.addNode()
    expect(await startExecution(scene.ledger, scene.startRequest(await scene.addExecution({ origin: 'manual' }), nodeId, { manual: true }))).toMatchObject({ status: 'started' })
    expect(await startExecution(scene.ledger, scene.startRequest(await scene.addExecution({ origin: 'manual', fire_time: 1 }), nodeId, { manual: true }))).toEqual({ status: 'busy' })
  })

  it('P9: an execution that is not due by the database\'s clock does not start, and gives the gate back', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    const dueAt = await scene.now() + 60_000
    const executionId = await scene.addExecution({ state: 'retry', due_at: dueAt })
    expect(await startExecution(scene.ledger, scene.startRequest(executionId, await scene.addNode()))).toMatchObject({ status: 'not-due', dueAt })
    expect(await scene.execution(executionId)).toMatchObject({ state: 'retry', attempt: 0 })
    expect(await scene.task()).toMatchObject({ gate_owner: null, fencing_token: 1 })
  })

  it.each([['dead', { state: 'dead' }], ['lapsed', { lease_until: 1 }]] as const)('P6: a node that is %s starts nothing', async (_, columns) => {
    const scene = new Scene(ground())
    await scene.addTask()
    const executionId = await scene.addExecution()
    expect(await startExecution(scene.ledger, scene.startRequest(executionId, await scene.addNode(columns)))).toEqual({ status: 'node-lapsed' })
    expect(await scene.execution(executionId)).toMatchObject({ state: 'pending' })
    expect(await scene.task()).toMatchObject({ gate_owner: null, fencing_token: 1 })
  })

  it('P6: a node that is not in the ledger starts nothing', async () => {
    const scene = new Scene(ground())
    await scene.addTask()
    expect(await startExecution(scene.ledger, scene.startRequest(await scene.addExecution(), 'unknown'))).toEqual({ status: 'node-lapsed' })
  })

  it.each(['running', 'succeeded', 'failed', 'skipped', 'missed'])('P1: an execution that is %s by now is not started again', async (state) => {
    const scene = new Scene(ground())
    await scene.addTask()
    const executionId = await scene.addExecution({ state })
    expect(await startExecution(scene.ledger, scene.startRequest(executionId, await scene.addNode()))).toEqual({ status: 'moved' })
    expect(await scene.task()).toMatchObject({ gate_owner: null })
  })

  it('P2: overlap allow leaves the gate alone, taken or not, and raises the token', async () => {
    const scene = new Scene(ground())
    await scene.addTask('job', { gate_owner: 'somebody', gate_node: 'elsewhere' })
    const nodeId = await scene.addNode()
    const first = await startExecution(scene.ledger, scene.startRequest(await scene.addExecution({ fire_time: 1 }), nodeId, { gated: false }))
    const second = await startExecution(scene.ledger, scene.startRequest(await scene.addExecution({ fire_time: 2 }), nodeId, { gated: false }))
    expect([first.status, second.status]).toEqual(['started', 'started'])
    expect((second as { fencingToken: number }).fencingToken).toBeGreaterThan((first as { fencingToken: number }).fencingToken)
    expect(await scene.task()).toMatchObject({ gate_owner: 'somebody', gate_node: 'elsewhere' })
  })
})
