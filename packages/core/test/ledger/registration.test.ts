import { expect, it } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { readTasks, registerTasks, type RegistrationOutcome } from '../../src/ledger/tasks.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const definition = (letter: string): string => letter.repeat(64)

async function register(ledger: Ledger, letter: string, node: { nodeId: string; revision: number }, taskName = 'job'): Promise<RegistrationOutcome | undefined> {
  const outcomes = await registerTasks(ledger, [{ taskName, definitionHash: () => definition(letter), spec: `{"of":"${letter}"}` }], node)
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

  it('P2: a changed definition leaves the gate, the token and the state as they are', async () => {
    const scene = new Scene(ground())
    await scene.addTask('job', { gate_owner: 'o', gate_node: 'n', fencing_token: 99, state: 'paused', definition_hash: definition('a') })
    expect(await register(scene.ledger, 'b', { nodeId: 'm', revision: 1 })).toBe('replaced')
    expect(await scene.task()).toMatchObject({ gate_owner: 'o', gate_node: 'n', fencing_token: 99, state: 'paused' })
  })

  it('P1: ten registrations at once, on ten sessions, create each task once', async () => {
    const scene = new Scene(ground())
    const tasks = ['a', 'b', 'c', 'd', 'e'].map((taskName) => ({ taskName, definitionHash: () => definition(taskName), spec: '{}' }))
    const all = await Promise.all(Array.from({ length: 10 }, (_, index) => registerTasks(scene.neighbour({ rowLockMs: 5_000 }), tasks, { nodeId: `n${index}`, revision: 0 })))
    for (const { taskName } of tasks) {
      const outcomes = all.map((outcome) => outcome.get(taskName))
      expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(1)
      expect(outcomes.filter((outcome) => outcome === 'current')).toHaveLength(9)
    }
    expect((await readTasks(scene.ledger)).size).toBe(5)
  })
})
