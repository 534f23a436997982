import { expect, it } from 'vitest'
import { clearGate, finishExecution, type AttemptEnd, type AttemptKey } from '../../src/ledger/finish.ts'
import { cancelExecution } from '../../src/ledger/operate.ts'
import { readBack } from '../../src/ledger/read-back.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const failed: AttemptEnd = { state: 'failed', errorCode: 'SCHED_TASK_FAILED', errorText: 'no paper' }
const retry: AttemptEnd = { state: 'retry', reason: 'retry', delayMs: 5_000, charged: true, errorCode: 'SCHED_TASK_FAILED', errorText: 'no paper' }

/** A running attempt that holds its task's gate. */
async function running(scene: Scene): Promise<AttemptKey> {
  const nodeId = await scene.addNode()
  const key = await scene.addExecutionIn('running', nodeId)
  await scene.addTask('job', { gate_owner: key.owner, gate_node: nodeId, fencing_token: key.fencingToken })
  return key
}

describeStores('finish (statement F) and read-back', (ground) => {
  it('P8: success clears the gate and ends the row together', async () => {
    const scene = new Scene(ground())
    const key = await running(scene)
    expect(await finishExecution(scene.ledger, key, { state: 'succeeded' }, { clearGate: true })).toBe('done')
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'succeeded', owner: key.owner, error_code: null, attempt: 1 })
    expect((await scene.execution(key.executionId))['finished_at']).toBeGreaterThan(0)
    expect(await scene.task()).toMatchObject({ gate_owner: null, gate_node: null, fencing_token: key.fencingToken })
  })

  it('P10: failure keeps code and text', async () => {
    const scene = new Scene(ground())
    const key = await running(scene)
    expect(await finishExecution(scene.ledger, key, failed, { clearGate: true })).toBe('done')
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_FAILED', error_text: 'no paper' })
  })

  it('P10: an error text is cut on a code point, and is never empty', async () => {
    const scene = new Scene(ground())
    const long = await running(scene)
    await finishExecution(scene.ledger, long, { ...failed, errorText: '🕰️'.repeat(2_000) }, { clearGate: true })
    const stored = (await scene.execution(long.executionId))['error_text'] as string
    expect([...stored]).toHaveLength(1_000)
    expect(stored.isWellFormed()).toBe(true)
    const empty = await scene.addExecutionIn('running', 'n', { fire_time: 1 })
    await finishExecution(scene.ledger, empty, { ...failed, errorText: '' }, { clearGate: true })
    expect(await scene.execution(empty.executionId)).toMatchObject({ error_text: '(no message)' })
  })

  it('P6: a retry is due after its delay by the database\'s clock, its attempt charged, its gate free', async () => {
    const scene = new Scene(ground())
    const key = await running(scene)
    const before = await scene.now()
    expect(await finishExecution(scene.ledger, key, retry, { clearGate: true })).toBe('done')
    const row = await scene.execution(key.executionId)
    expect(row).toMatchObject({ state: 'retry', attempt: 1, attempt_reason: 'retry', error_text: 'no paper' })
    expect(row['due_at']).toBeGreaterThanOrEqual(before + 5_000)
    expect(row['due_at']).toBeLessThanOrEqual(await scene.now() + 5_000)
    expect(await scene.task()).toMatchObject({ gate_owner: null })
  })

  it('P6: an interrupted attempt is given back', async () => {
    const scene = new Scene(ground())
    const key = await running(scene)
    await finishExecution(scene.ledger, key, { ...retry, reason: 'interrupted', delayMs: 0, charged: false, errorCode: 'SCHED_TASK_INTERRUPTED' }, { clearGate: true })
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'retry', attempt: 0, attempt_reason: 'interrupted' })
  })

  it.each(['interrupted', 'lock-lost', 'retry'] as const)('P6: what a person asked for stays by hand when it is retried (%s)', async (reason) => {
    const scene = new Scene(ground())
    const key = await running(scene)
    await scene.query(`UPDATE ${scene.ledger.tables.executions} SET attempt_reason = 'manual' WHERE execution_id = ?`, [key.executionId])
    expect(await finishExecution(scene.ledger, key, { ...retry, reason }, { clearGate: true })).toBe('done')
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'retry', attempt_reason: 'manual' })
  })

  it('P6: what was asked to end is not retried: the retry of an attempt ends as cancelled', async () => {
    const scene = new Scene(ground())
    const key = await running(scene)
    expect(await cancelExecution(scene.neighbour(), key.executionId, 'enough.')).toBe('requested')
    expect(await finishExecution(scene.ledger, key, retry, { clearGate: true })).toBe('cancelled')
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_CANCELLED', error_text: 'no paper', attempt: 1 })
    expect(await scene.task()).toMatchObject({ gate_owner: null })
    // Its answer was lost: read back, it says the same.
    expect(await finishExecution(scene.ledger, key, retry, { clearGate: true })).toBe('cancelled')
  })

  it('P2: the gate of a handler that has not settled stays, and is cleared by its owner only', async () => {
    const scene = new Scene(ground())
    const key = await running(scene)
    expect(await finishExecution(scene.ledger, key, failed, { clearGate: false })).toBe('done')
    expect(await scene.task()).toMatchObject({ gate_owner: key.owner })
    await clearGate(scene.ledger, 'job', 'somebody else')
    expect(await scene.task()).toMatchObject({ gate_owner: key.owner })
    await clearGate(scene.ledger, 'job', key.owner)
    expect(await scene.task()).toMatchObject({ gate_owner: null, gate_node: null })
  })

  it.each<[string, Partial<AttemptKey>]>([['owner', { owner: 'a zombie' }], ['token', { fencingToken: 6 }], ['execution', { executionId: 'another' }]])('P7: a finish under another %s changes nothing, not even the gate', async (_, wrong) => {
    const scene = new Scene(ground())
    const key = await running(scene)
    for (const end of [{ state: 'succeeded' }, failed, retry] satisfies AttemptEnd[]) {
      expect(await finishExecution(scene.ledger, { ...key, ...wrong }, end, { clearGate: true })).toBe('fenced')
      expect(await scene.execution(key.executionId)).toMatchObject({ state: 'running', owner: key.owner, fencing_token: key.fencingToken })
      expect(await scene.task()).toMatchObject({ gate_owner: key.owner })
    }
  })

  it('P4: nobody finishes with a foreign owner although token and id match', async () => {
    const scene = new Scene(ground())
    const key = await running(scene)
    expect(await finishExecution(scene.ledger, { ...key, owner: 'host:1' }, { state: 'succeeded' }, { clearGate: true })).toBe('fenced')
    expect(await scene.execution(key.executionId)).toMatchObject({ state: 'running' })
  })

  it('P7: after recovery and a new start the zombie is fenced, the successor not', async () => {
    const scene = new Scene(ground())
    const zombie = await running(scene)
    await scene.query(`UPDATE ${scene.ledger.tables.executions} SET owner = 'successor', fencing_token = 8 WHERE execution_id = ?`, [zombie.executionId])
    await scene.query(`UPDATE ${scene.ledger.tables.tasks} SET gate_owner = 'successor', fencing_token = 8 WHERE namespace = ?`, [scene.namespace])
    expect(await finishExecution(scene.ledger, zombie, { state: 'succeeded' }, { clearGate: true })).toBe('fenced')
    expect(await scene.task()).toMatchObject({ gate_owner: 'successor' })
    expect(await finishExecution(scene.ledger, { ...zombie, owner: 'successor', fencingToken: 8 }, { state: 'succeeded' }, { clearGate: true })).toBe('done')
  })

  it('P7: a repeated finish of our own is done, not fenced', async () => {
    const scene = new Scene(ground())
    for (const [index, end] of ([{ state: 'succeeded' }, failed, retry] satisfies AttemptEnd[]).entries()) {
      const key = index === 0 ? await running(scene) : await scene.addExecutionIn('running', 'n', { fire_time: index })
      expect(await finishExecution(scene.ledger, key, end, { clearGate: true })).toBe('done')
      expect(await finishExecution(scene.ledger, key, end, { clearGate: true })).toBe('done')
      expect(await scene.execution(key.executionId)).toMatchObject({ state: end.state })
    }
  })

  it('P7: reading back tells running, finished, untouched and fenced apart, and changes nothing', async () => {
    const scene = new Scene(ground())
    const key = await running(scene)
    const before = await scene.execution(key.executionId)
    expect(await readBack(scene.ledger, key)).toMatchObject({ status: 'mine-running', fencingToken: 7, attempt: 1 })
    expect(await readBack(scene.ledger, { ...key, owner: 'another' })).toEqual({ status: 'fenced' })
    expect(await readBack(scene.ledger, { ...key, executionId: 'gone' })).toEqual({ status: 'fenced' })
    expect(await scene.execution(key.executionId)).toEqual(before)
    await finishExecution(scene.ledger, key, { state: 'succeeded' }, { clearGate: true })
    expect(await readBack(scene.ledger, key)).toEqual({ status: 'mine-finished' })
    for (const [index, state] of ['pending', 'retry'].entries()) {
      const executionId = await scene.addExecution({ state, owner: null, fire_time: index })
      expect(await readBack(scene.ledger, { executionId, owner: key.owner })).toEqual({ status: 'untouched' })
    }
  })
})
