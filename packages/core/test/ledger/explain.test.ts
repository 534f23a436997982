import { expect, it } from 'vitest'
import { createOperations } from '../../src/executor/operations.ts'
import { defineTask } from '../../src/executor/task-definition.ts'
import { jitterMs } from '../../src/schedule/jitter.ts'
import type { SqlValue } from '../../src/spi/sql-session.ts'
import { hash, otherHash, Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const minute = 60_000
const hour = 60 * minute
const spec = defineTask('job', { everyMs: minute }, () => undefined, {}).spec

/** A task that fires every minute and was armed three hours ago; `at(n)`: the fire time n minutes ago. */
async function scene(ground: Scene['ground'], task: Readonly<Record<string, SqlValue>> = {}) {
  const scene = new Scene(ground)
  const nodeId = await scene.addNode()
  const latest = Math.floor(await scene.now() / minute) * minute
  await scene.addTask('job', { spec, defined_by: nodeId, armed_from: latest - 3 * hour, ...task })
  const at = (minutes: number): number => latest - minutes * minute
  const explain = (time: number) => createOperations(scene.ledger).explain('job', new Date(time))
  return { scene, nodeId, at, explain }
}

describeStores('explain', (ground) => {
  it.each([['succeeded', 'ran'], ['running', 'running'], ['failed', 'failed'], ['skipped', 'skipped'], ['missed', 'missed'], ['pending', 'waiting'], ['retry', 'waiting']] as const)('P10: a slot that is %s explains its fire time as %s', async (state, verdict) => {
    const { scene: given, at, explain } = await scene(ground())
    await given.addExecution({ state, fire_time: at(2), due_at: at(2), attempt: 1, error_code: state === 'failed' ? 'E' : null, error_text: state === 'failed' ? 'no paper' : null })
    const explanation = await explain(at(2))
    expect(explanation).toMatchObject({ verdict, record: { state, fireTime: at(2) } })
    if (state === 'failed') expect(explanation.text).toBe('failed after 1 attempt: E, no paper.')
    if (state === 'succeeded') expect(explanation.text).toBe('succeeded after 1 attempt.')
    if (state === 'retry') expect(explanation.text).toMatch(/^retry after 1 attempt\. It has been due since .*\.$/)
  })

  it('P10: what waits says for what', async () => {
    const { scene: given, nodeId, at, explain } = await scene(ground())
    const { tasks, nodes, executions } = given.ledger.tables
    await given.addExecution({ fire_time: at(2), due_at: at(2) })
    expect((await explain(at(2))).text).toContain('and waits for an instance with a free worker')
    await given.query(`UPDATE ${tasks} SET gate_owner = 'o', gate_node = ? WHERE namespace = ?`, [nodeId, given.namespace])
    expect((await explain(at(2))).text).toContain('and waits for the run before it')
    await given.query(`UPDATE ${tasks} SET state = 'paused', state_reason = 'stocktaking' WHERE namespace = ?`, [given.namespace])
    expect((await explain(at(2))).text).toContain('the task is paused: stocktaking')
    await given.query(`UPDATE ${tasks} SET defined_by = 'gone' WHERE namespace = ?`, [given.namespace])
    expect((await explain(at(2))).text).toContain('is carried by no live instance')
    await given.query(`UPDATE ${nodes} SET lease_until = 1 WHERE namespace = ?`, [given.namespace])
    expect(await explain(at(2))).toMatchObject({ verdict: 'waiting', text: expect.stringContaining('no instance is alive') as string })
    await given.query(`UPDATE ${executions} SET due_at = ? WHERE namespace = ?`, [at(-60), given.namespace])
    expect((await explain(at(2))).text).toContain(`It is due at ${new Date(at(-60)).toISOString()}`)
  })

  it('P10: a range record answers for the fire times that it covers, and for no other instant', async () => {
    const { scene: given, at, explain } = await scene(ground())
    await given.addExecution({ state: 'missed', fire_time: at(2), missed_from: at(5), missed_count: 4, error_code: 'missed', error_text: 'nobody was there.' })
    for (const minutes of [2, 3, 5]) expect(await explain(at(minutes))).toMatchObject({ verdict: 'missed', text: expect.stringMatching(/^one of 4 fire times .* that were missed: nobody was there\.$/) as string })
    expect(await explain(at(3) + 1000)).toMatchObject({ verdict: 'not-a-fire-time' })
    expect(await explain(at(6))).not.toMatchObject({ verdict: 'missed' })
  })

  it('P10: a range record of another schedule answers for all that it covers', async () => {
    const { scene: given, at, explain } = await scene(ground())
    await given.addExecution({ state: 'missed', fire_time: at(2), missed_from: at(5), missed_count: 4, error_code: 'missed', error_text: 'nobody was there.', definition_hash: otherHash })
    expect(await explain(at(3) + 1000)).toMatchObject({ verdict: 'missed' })
  })

  it('P10: a range record that was retried by hand says what ran, and what did not', async () => {
    const { scene: given, at, explain } = await scene(ground())
    await given.addExecution({ state: 'succeeded', fire_time: at(2), missed_from: at(5), missed_count: 4, attempt: 1, attempt_reason: 'manual' })
    expect(await explain(at(2))).toMatchObject({ verdict: 'ran', text: expect.stringContaining('retried by hand, as the last of 4 fire times') as string })
    expect(await explain(at(4))).toMatchObject({ verdict: 'missed', text: expect.stringContaining('the last of them was retried by hand (succeeded)') as string })
  })

  it('P10: a slot that was skipped and is retried by hand says why it was skipped, and that a person asked', async () => {
    const { scene: given, at, explain } = await scene(ground())
    await given.addExecution({ state: 'skipped', fire_time: at(2), error_code: 'overlap', error_text: 'the run before it had not ended.', finished_at: at(2) })
    const skipped = await explain(at(2))
    expect(skipped).toMatchObject({ verdict: 'skipped', text: 'skipped: overlap, the run before it had not ended.' })
    expect(await createOperations(given.ledger).retry(skipped.record?.executionId ?? '')).toBe('retried')
    expect(await explain(at(2))).toMatchObject({ verdict: 'waiting', text: expect.stringMatching(/^retry: overlap, the run before it had not ended\. It was retried by hand\. It has been due since /) as string })
  })

  it('P10: what has no record: the schedule, its jitter and the state of the task answer', async () => {
    const late = defineTask('job', { everyMs: minute, jitterMs: 100 * hour }, () => undefined, {}).spec
    const { scene: given, at, explain } = await scene(ground())
    const { tasks } = given.ledger.tables
    expect(await explain(at(-3))).toMatchObject({ verdict: 'future' })
    expect(await explain(at(2) + 1)).toMatchObject({ verdict: 'not-a-fire-time' })
    expect(await explain(at(180))).toMatchObject({ verdict: 'before-armed' })
    expect(await explain(at(2))).toMatchObject({ verdict: 'unclaimed', text: expect.stringContaining('no instance has claimed it so far') as string })
    for (const state of ['paused', 'stalled', 'retired']) {
      await given.query(`UPDATE ${tasks} SET state = ?, state_reason = 'because' WHERE namespace = ?`, [state, given.namespace])
      expect(await explain(at(2))).toMatchObject({ verdict: state, text: `the task is ${state}: because.` })
    }
    await given.query(`UPDATE ${tasks} SET state = 'active', spec = ? WHERE namespace = ?`, [late, given.namespace])
    expect(await explain(at(2))).toMatchObject({ verdict: 'waiting', text: `its jitter moves the start to ${new Date(at(2) + jitterMs('job', 100 * hour)).toISOString()}.` })
    expect(await createOperations(given.ledger).explain('other', new Date(0))).toMatchObject({ verdict: 'unknown-task' })
  })

  it('P10: a definition that no live instance carries is a mismatch, and without instances nothing is', async () => {
    const { scene: given, at, explain } = await scene(ground(), { revision: 7 })
    const { tasks, nodes } = given.ledger.tables
    const canary = await given.addNode({ lease_until: 1 })
    await given.query(`UPDATE ${tasks} SET defined_by = ? WHERE namespace = ?`, [canary, given.namespace])
    expect(await explain(at(2))).toMatchObject({ verdict: 'definition-mismatch', text: expect.stringContaining('revision 7') as string })
    await given.query(`UPDATE ${nodes} SET state = 'dead' WHERE namespace = ?`, [given.namespace])
    expect(await explain(at(2))).toMatchObject({ verdict: 'unclaimed', text: expect.stringContaining('no instance is alive') as string })
  })

  it('P10: what is older than the ledger keeps is forgotten, never unclaimed', async () => {
    const { scene: given, at, explain } = await scene(ground())
    await given.addExecution({ state: 'succeeded', fire_time: at(30) })
    expect(await explain(at(90))).toMatchObject({ verdict: 'forgotten', text: expect.stringContaining(new Date(at(30)).toISOString()) as string })
    // A scan has moved armed_from since, or the task is younger: nobody can tell.
    expect(await explain(at(200))).toMatchObject({ verdict: 'forgotten', text: expect.stringContaining('the task was new, changed or resumed') as string })
    // Nothing so young is ever deleted.
    expect(await explain(at(40))).toMatchObject({ verdict: 'unclaimed' })
    await given.query(`UPDATE ${given.ledger.tables.tasks} SET state = 'paused' WHERE namespace = ?`, [given.namespace])
    expect(await explain(at(90))).toMatchObject({ verdict: 'forgotten' })
    expect(await explain(at(20))).toMatchObject({ verdict: 'paused' })
  })

  it('P10: an execution that was made by hand answers for its own moment', async () => {
    const { scene: given, at, explain } = await scene(ground())
    await given.addExecution({ state: 'succeeded', origin: 'manual', slot_key: 'by-hand', fire_time: at(2) + 123, attempt: 1, definition_hash: hash })
    expect(await explain(at(2) + 123)).toMatchObject({ verdict: 'ran', record: { origin: 'manual' } })
  })
})
