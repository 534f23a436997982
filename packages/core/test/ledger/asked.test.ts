import { expect, it } from 'vitest'
import { createOperations } from '../../src/executor/operations.ts'
import { defineTask, type TaskOptions } from '../../src/executor/task-definition.ts'
import { registrationOf } from '../../src/executor/task-spec.ts'
import { runningExecutions } from '../../src/ledger/due.ts'
import { cancelRequests } from '../../src/ledger/operate.ts'
import { endRetired, retiredSpecs } from '../../src/ledger/retire.ts'
import { gateTaken } from '../../src/ledger/start.ts'
import { registerTasks } from '../../src/ledger/tasks.ts'
import { Scene } from './scene.ts'
import { describeStores } from './store-ground.ts'

const minuteMs = 60_000
const registration = (name: string, options: TaskOptions) => registrationOf(defineTask(name, options, () => undefined, {}))

describeStores('what people ask of a ledger', (ground) => {
  /** A minutely task of a live node, with one slot that succeeded, one that failed, and a range record before them. */
  async function kept() {
    const scene = new Scene(ground())
    const nodeId = await scene.addNode()
    await registerTasks(scene.ledger, [registration('job', { everyMs: minuteMs })], { nodeId, revision: 1 })
    const now = await scene.now()
    const latest = now - now % minuteMs
    await scene.query(`UPDATE ${scene.ledger.tables.tasks} SET armed_from = ? WHERE namespace = ?`, [latest - 10 * minuteMs, scene.namespace])
    const ended = { attempt: 1, started_at: latest, finished_at: latest }
    const range = await scene.addExecution({ state: 'missed', fire_time: latest - 2 * minuteMs, missed_from: latest - 6 * minuteMs, missed_count: 5 })
    const failed = await scene.addExecution({ state: 'failed', fire_time: latest - minuteMs, error_code: 'SCHED_TASK_FAILED', error_text: 'out of paper', ...ended })
    const succeeded = await scene.addExecution({ state: 'succeeded', fire_time: latest, ...ended })
    return { scene, operations: createOperations(scene.ledger), latest, nodeId, range, failed, succeeded }
  }

  it('P10: executions come newest first, filtered, page by page', async () => {
    const { operations, latest, range, failed, succeeded } = await kept()
    const ids = async (filter: Parameters<typeof operations.executions>[0]) => (await operations.executions(filter)).map(({ executionId }) => executionId)
    expect(await ids({})).toEqual([succeeded, failed, range])
    expect(await ids({ task: 'job', state: 'failed' })).toEqual([failed])
    expect(await ids({ task: 'other' })).toEqual([])
    const [first] = await operations.executions({ limit: 1 })
    expect(first).toMatchObject({ task: 'job', fireTime: latest, state: 'succeeded', attempt: 1, missedCount: null })
    expect(await ids({ limit: 1, after: first! })).toEqual([failed])
  })

  it('P10: a fire time is explained by its own row, by the range that covers it, or by how it stands with the task', async () => {
    const { operations, latest, scene } = await kept()
    const verdict = async (fireTime: number, task = 'job') => (await operations.explain(task, new Date(fireTime))).verdict
    expect(await verdict(latest)).toBe('ran')
    expect(await operations.explain('job', new Date(latest - minuteMs))).toMatchObject({ verdict: 'failed', text: expect.stringContaining('out of paper') as string })
    expect(await verdict(latest - 4 * minuteMs)).toBe('missed')
    expect(await verdict(latest - 7 * minuteMs)).toBe('unclaimed')
    expect(await verdict(latest - 20 * minuteMs)).toBe('before-armed')
    expect(await verdict(latest + 10 * minuteMs)).toBe('future')
    expect(await verdict(latest, 'nobody')).toBe('unknown-task')
    await scene.query(`UPDATE ${scene.ledger.tables.nodes} SET lease_until = 1 WHERE namespace = ?`, [scene.namespace])
    expect(await operations.explain('job', new Date(latest - 7 * minuteMs))).toMatchObject({ verdict: 'unclaimed', text: expect.stringContaining('no instance is alive') as string })
  })

  it('P10: pause, resume, trigger, retry and cancel say what they did', async () => {
    const { operations, failed, succeeded } = await kept()
    expect(await operations.pause('job', { reason: 'month end' })).toBe(true)
    expect(await operations.tasks()).toEqual([{ name: 'job', state: 'paused', reason: 'month end', revision: 1, overridden: false }])
    const { executionId, created } = await operations.trigger('job', { key: 'once' })
    expect(created).toBe(true)
    expect(await operations.trigger('job', { key: 'once' })).toEqual({ executionId, created: false })
    expect(await operations.cancel(executionId)).toBe('cancelled')
    expect(await operations.retry(failed)).toBe('retried')
    expect(await operations.retry(succeeded)).toBe('succeeded')
    expect(await operations.resume('job')).toBe(true)
    expect(await operations.resume('job')).toBe(false)
    expect(await operations.locks()).toEqual([])
  })

  it('P10: what runs is asked to end, and its instance finds it', async () => {
    const { operations, scene, nodeId, latest } = await kept()
    const { executionId, owner } = await scene.addExecutionIn('running', nodeId, { fire_time: latest - 3 * minuteMs })
    await scene.query(`UPDATE ${scene.ledger.tables.tasks} SET gate_owner = ?, gate_node = ? WHERE namespace = ?`, [owner, nodeId, scene.namespace])
    expect(await gateTaken(scene.ledger, 'job')).toBe(true)
    expect(await runningExecutions(scene.ledger, 'job')).toEqual([{ executionId, fireTime: latest - 3 * minuteMs }])
    expect(await cancelRequests(scene.ledger, nodeId)).toEqual([])
    expect(await operations.cancel(executionId)).toBe('requested')
    expect(await cancelRequests(scene.ledger, nodeId)).toEqual([executionId])
    expect(await operations.locks('job')).toMatchObject([{ task: 'job', gate: { owner } }])
  })

  it('P10: another schedule is kept until it is cleared', async () => {
    const { operations, scene } = await kept()
    const before = (await scene.task())['definition_hash']
    await operations.reschedule('job', { cron: '0 3 * * *' })
    expect(await operations.tasks()).toMatchObject([{ overridden: true }])
    expect((await scene.task())['definition_hash']).not.toBe(before)
    await operations.reschedule('job', null)
    expect(await operations.tasks()).toMatchObject([{ overridden: false }])
    expect((await scene.task())['definition_hash']).toBe(before)
  })

  it('P1: what waits of a task that a newer revision no longer has is ended, and its definition stays for retention', async () => {
    const { scene, operations } = await kept()
    const waiting = await scene.addExecution({ state: 'retry', fire_time: 1, attempt: 1 })
    await registerTasks(scene.ledger, [registration('new', { everyMs: minuteMs })], { nodeId: await scene.addNode({ revision: 2 }), revision: 2 })
    expect(await scene.execution(waiting)).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_RETIRED' })
    expect((await operations.tasks()).map(({ name, state }) => [name, state]).sort()).toEqual([['job', 'retired'], ['new', 'active']])
    expect([...(await retiredSpecs(scene.ledger)).keys()]).toEqual(['job'])
    expect(await endRetired(scene.ledger)).toBe(0)
  })
})
