import { expect, it } from 'vitest'
import { heartbeat, type Heartbeat, type HeartbeatRequest } from '../../src/ledger/heartbeat.ts'
import { registerNode, retireNode } from '../../src/ledger/nodes.ts'
import { systemClock } from '../../src/time/clock.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

function request(nodeId: string, versions = '{}'): HeartbeatRequest {
  return { nodeId, leaseMs: 5_000, clockOffsetMs: 12.4, versions, horizonMs: 1_000 }
}

function beat(scene: Scene, nodeId: string, versions = '{}'): Promise<Heartbeat> {
  return scene.ledger.store.block('the heartbeat', async (sql) => ({ commit: true, value: await heartbeat(scene.ledger, request(nodeId, versions), sql, systemClock) }))
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

  it('P10: it counts the live nodes whose time zone data is another version', async () => {
    const scene = new Scene(ground())
    const versions = (tzdata: string): string => JSON.stringify({ core: '1.0.0', node: '24.0.0', tzdata })
    const me = await scene.addNode({ versions: versions('2025b') })
    await scene.addNode({ versions: JSON.stringify({ core: '1.0.1', node: '24.1.0', tzdata: '2025b' }) })
    await scene.addNode({ versions: versions('2024a'), state: 'dead' })
    await scene.addNode({ versions: '{}' })
    await scene.addNode({ versions: null })
    expect((await beat(scene, me, versions('2025b'))).otherZoneData).toBe(0)
    await scene.addNode({ versions: versions('2024a') })
    await scene.addNode({ versions: versions('2025a') })
    expect((await beat(scene, me, versions('2025b'))).otherZoneData).toBe(2)
    expect((await beat(scene, me, versions('2024a'))).otherZoneData).toBe(3)
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

  it.each([['retired', false, false], ['paused', false, true], ['stalled', false, true], ['active', true, true]] as const)('P12: a due row of a task that is %s is announced: %s; one that a person asked for: %s', async (state, announced, byHand) => {
    const scene = new Scene(ground())
    const me = await scene.addNode()
    const dueAt = await scene.now() - 10
    await scene.addTask('job', { state })
    const executionId = await scene.addExecution({ state: 'retry', due_at: dueAt, attempt_reason: 'retry' })
    await scene.addExecution({ state: 'pending', due_at: dueAt, fire_time: 1 })
    expect(await beat(scene, me)).toMatchObject(announced ? { nearestDueAt: dueAt, latestDueAt: dueAt, due: 2 } : { nearestDueAt: null, latestDueAt: null, due: 0 })
    await scene.query(`UPDATE ${scene.ledger.tables.executions} SET attempt_reason = 'manual' WHERE execution_id = ?`, [executionId])
    await scene.addExecution({ state: 'pending', due_at: dueAt - 10, origin: 'manual', slot_key: 'by hand' })
    expect(await beat(scene, me)).toMatchObject(byHand ? { nearestDueAt: dueAt - 10, latestDueAt: dueAt, due: announced ? 3 : 2 } : { nearestDueAt: null, due: 0 })
  })

  it('P6 P12: it reads the tasks once, and counts gates, orphaned gates and definitions without a carrier', async () => {
    const scene = new Scene(ground())
    const [me, other, dead] = [await scene.addNode(), await scene.addNode(), await scene.addNode({ state: 'dead' })]
    await scene.addTask('mine', { defined_by: me, gate_owner: 'o', gate_node: me })
    await scene.addTask('carried', { defined_by: other, gate_owner: 'o', gate_node: dead })
    await scene.addTask('dead', { defined_by: dead, gate_owner: 'o', gate_node: other })
    await scene.addTask('gone', { defined_by: 'never seen', gate_owner: 'o', gate_node: 'never seen' })
    await scene.addTask('free', { defined_by: dead })
    const texts: string[] = []
    const found = await scene.ledger.store.block('the heartbeat', async (sql) => ({ commit: true, value: await heartbeat(scene.ledger, request(me), {
      ...sql, run: (statement) => { texts.push(statement.text); return sql.run(statement) },
    }, systemClock) }))
    expect(found).toMatchObject({ gates: 1, orphans: 2, uncarried: 3 })
    // Once for all, and by key for what is due.
    expect(texts.join('').split(scene.ledger.tables.tasks)).toHaveLength(3)
  })

  it('P6: it looks at its own namespace only', async () => {
    const [scene, other] = [new Scene(ground()), new Scene(ground())]
    await other.addNode({ lease_until: 1 })
    await other.addExecution({ state: 'retry' })
    expect(await beat(scene, await scene.addNode())).toMatchObject({ alive: true, orphans: 0, nearestDueAt: null })
  })
})
