import { expect, it } from 'vitest'
import { listGates } from '../../src/ledger/gates.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

describeStores('the list of gates', (ground) => {
  it('P10: names task, attempt, instance and since when; free gates only when asked for', async () => {
    const scene = new Scene(ground())
    const nodeId = await scene.addNode({ node_label: 'host:7' })
    const startedAt = await scene.now() - 5_000
    const key = await scene.addExecutionIn('running', nodeId, { started_at: startedAt })
    await scene.addTask('job', { gate_owner: key.owner, gate_node: nodeId, fencing_token: key.fencingToken })
    await scene.addTask('free')
    const held = { task: 'job', holder: { owner: key.owner, executionId: key.executionId, sinceAt: startedAt, fencingToken: key.fencingToken, nodeId, instance: 'host:7', alive: true } }
    expect(await listGates(scene.ledger, undefined)).toEqual([held])
    expect(await listGates(scene.ledger, 'job')).toEqual([held])
    expect(await listGates(scene.ledger, 'free')).toEqual([{ task: 'free', holder: null }])
    expect(await listGates(scene.ledger, 'nobody')).toEqual([])
  })

  it('P10: a gate that outlives its execution, its lease or its instance says so', async () => {
    const scene = new Scene(ground())
    const [nodeId, lapsed] = [await scene.addNode(), await scene.addNode({ lease_until: 1 })]
    const stuck = await scene.addExecutionIn('failed', nodeId, { node_id: nodeId })
    await scene.addTask('job', { gate_owner: stuck.owner, gate_node: nodeId })
    await scene.addTask('of-lapsed', { gate_owner: 'a', gate_node: lapsed })
    await scene.addTask('of-gone', { gate_owner: 'b', gate_node: 'gone' })
    expect(await listGates(scene.ledger, undefined)).toMatchObject([
      { task: 'job', holder: { owner: stuck.owner, executionId: null, sinceAt: null, alive: true } },
      { task: 'of-gone', holder: { owner: 'b', instance: null, alive: false } },
      { task: 'of-lapsed', holder: { owner: 'a', instance: 'test', alive: false } },
    ])
  })
})
