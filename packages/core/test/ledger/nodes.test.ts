import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { pruneNodes, registerNode, renewNode, retireNode } from '../../src/ledger/nodes.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const leaseMs = 30_000
const dayMs = 86_400_000

describeStores('the life of a node', (ground) => {
  it('P5: begins with a lease, is renewed while that lasts, and never after', async () => {
    const scene = new Scene(ground())
    const { ledger } = scene
    const nodeId = randomUUID()
    const before = await scene.now()
    await ledger.store.run('registering', registerNode(ledger, { nodeId, label: 'host:7', revision: 3, versions: '{"tzdata":"2030a"}' }, leaseMs))
    const node = await scene.node(nodeId)
    expect(node).toMatchObject({ state: 'alive', node_label: 'host:7', revision: 3, versions: '{"tzdata":"2030a"}', clock_offset_ms: null })
    expect(node['lease_until']).toBeGreaterThanOrEqual(before + leaseMs)
    expect(node['lease_until']).toBeLessThanOrEqual(await scene.now() + leaseMs)
    const renew = async (): Promise<number> => (await ledger.store.run('renewing', renewNode(ledger, nodeId, 2 * leaseMs, 12.4))).affected
    expect(await renew()).toBe(1)
    expect(await scene.node(nodeId)).toMatchObject({ clock_offset_ms: 12 })
    expect((await scene.node(nodeId))['lease_until']).toBeGreaterThanOrEqual((node['lease_until'] as number) + leaseMs)
    await scene.query(`UPDATE ${ledger.tables.nodes} SET lease_until = ${ledger.sql.nowMs} - 1 WHERE namespace = ? AND node_id = ?`, [scene.namespace, nodeId])
    expect(await renew()).toBe(0)
    const retire = async (): Promise<number> => (await ledger.store.run('retiring', retireNode(ledger, nodeId))).affected
    expect([await retire(), await retire()]).toEqual([1, 0])
    expect(await scene.node(nodeId)).toMatchObject({ state: 'dead' })
  })

  it('P6: its row goes a day after its end, unless a run or a gate still points to it', async () => {
    const scene = new Scene(ground())
    const old = { state: 'dead', lease_until: await scene.now() - dayMs - 1_000 }
    const [gone, runs, gated, recent, alive] = [await scene.addNode(old), await scene.addNode(old), await scene.addNode(old), await scene.addNode({ ...old, lease_until: old.lease_until + 60_000 }), await scene.addNode({ ...old, state: 'alive' })]
    await scene.addExecutionIn('running', runs)
    await scene.addTask('job', { gate_owner: 'owner', gate_node: gated })
    await pruneNodes(scene.ledger)
    const left = (await scene.query(`SELECT node_id FROM ${scene.ledger.tables.nodes} WHERE namespace = ?`, [scene.namespace])).map((row) => row['node_id'])
    expect(left.sort()).toEqual([runs, gated, recent, alive].sort())
    expect(left).not.toContain(gone)
  })
})
