import { expect, it } from 'vitest'
import { heartbeat, type Heartbeat } from '../../src/ledger/heartbeat.ts'
import { registerNode, retireNode } from '../../src/ledger/nodes.ts'
import { systemClock } from '../../src/time/clock.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

function beat(scene: Scene, nodeId: string): Promise<Heartbeat> {
  const request = { nodeId, leaseMs: 5_000, clockOffsetMs: 12.4, horizonMs: 1_000 }
  return scene.ledger.store.block('the heartbeat', async (sql) => ({ commit: true, value: await heartbeat(scene.ledger, request, sql, systemClock) }))
}

describeStores('heartbeat (statement H)', (ground) => {
  it('P6: registration and each heartbeat keep a node alive for one lease from now', async () => {
    const scene = new Scene(ground())
    const before = await scene.now()
    await scene.ledger.store.run('registering', registerNode(scene.ledger, { nodeId: 'n1', label: 'host:1', revision: 3, versions: '{}' }, 5_000))
    const registered = (await scene.node('n1'))['lease_until'] as number
    expect(registered).toBeGreaterThanOrEqual(before + 5_000)
    const found = await beat(scene, 'n1')
    expect(found).toMatchObject({ alive: true, orphans: 0, nearestDueAt: null, running: 0, gates: 0 })
    expect(found.receivedAt).toBeGreaterThanOrEqual(found.sentAt)
    const row = await scene.node('n1')
    expect(row['lease_until']).toBeGreaterThanOrEqual(registered)
    expect(row['lease_until']).toBeLessThanOrEqual(await scene.now() + 5_000)
    expect(row).toMatchObject({ state: 'alive', clock_offset_ms: 12, revision: 3, node_label: 'host:1' })
  })

  it.each([['lapsed, although nobody has declared it dead', { lease_until: 1 }], ['dead, although its lease runs', { state: 'dead' }]] as const)('P6: a node that is %s never becomes alive again', async (_, columns) => {
    const scene = new Scene(ground())
    const nodeId = await scene.addNode(columns)
    const before = await scene.node(nodeId)
    expect(await beat(scene, nodeId)).toMatchObject({ alive: false })
    expect(await scene.node(nodeId)).toEqual(before)
  })

  it('P6: a node that leaves is dead at once, and only itself', async () => {
    const scene = new Scene(ground())
    const [leaving, staying] = [await scene.addNode(), await scene.addNode()]
    await scene.ledger.store.run('retiring', retireNode(scene.ledger, leaving))
    expect(await scene.node(leaving)).toMatchObject({ state: 'dead' })
    expect(await scene.node(staying)).toMatchObject({ state: 'alive' })
  })

  it('P6: it reports lapsed nodes, rows and gates of nodes that are not alive', async () => {
    const scene = new Scene(ground())
    const [me, dead] = [await scene.addNode(), await scene.addNode({ state: 'dead' })]
    expect((await beat(scene, me)).orphans).toBe(0)
    await scene.addNode({ lease_until: 1 })
    expect((await beat(scene, me)).orphans).toBe(1)
    await scene.addExecutionIn('running', dead)
    expect((await beat(scene, me)).orphans).toBe(2)
    await scene.addTask('job', { gate_owner: 'o', gate_node: dead })
    expect((await beat(scene, me)).orphans).toBe(3)
    // Of nodes that are gone from the table too.
    await scene.addExecutionIn('running', 'never seen', { fire_time: 1 })
    expect((await beat(scene, me)).orphans).toBe(4)
  })

  it('P6: it counts what runs under this node and the gates it holds', async () => {
    const scene = new Scene(ground())
    const [me, other] = [await scene.addNode(), await scene.addNode()]
    const key = await scene.addExecutionIn('running', me)
    await scene.addExecutionIn('running', me, { fire_time: 1 })
    await scene.addExecutionIn('running', other, { fire_time: 2 })
    await scene.addExecutionIn('succeeded', me, { fire_time: 3 })
    await scene.addTask('job', { gate_owner: key.owner, gate_node: me })
    await scene.addTask('other', { gate_owner: 'o', gate_node: other })
    expect(await beat(scene, me)).toMatchObject({ running: 2, gates: 1, orphans: 0 })
  })

  it('P12: it announces the nearest due row within the horizon, so that nobody polls', async () => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const now = await scene.now()
    await scene.addExecution({ state: 'retry', due_at: now + 60_000, fire_time: 1 })
    await scene.addExecution({ state: 'succeeded', due_at: now - 60_000, fire_time: 2 })
    expect((await beat(scene, me)).nearestDueAt).toBeNull()
    await scene.addExecution({ state: 'retry', due_at: now + 900, fire_time: 3 })
    expect((await beat(scene, me)).nearestDueAt).toBe(now + 900)
    await scene.addExecution({ state: 'pending', due_at: now - 10, fire_time: 4 })
    expect((await beat(scene, me)).nearestDueAt).toBe(now - 10)
  })

  it('P6: it looks at its own namespace only', async () => {
    const [scene, other] = [new Scene(ground()), new Scene(ground())]
    await other.addNode({ lease_until: 1 })
    await other.addExecution({ state: 'retry' })
    expect(await beat(scene, await scene.addNode())).toMatchObject({ alive: true, orphans: 0, nearestDueAt: null })
  })
})
