import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Cluster } from './cluster.ts'
import type { LocalNode } from './local-node.ts'
import { onStores } from './on-stores.ts'
import { every, far } from './scenarios.ts'

/** A row as a start leaves it whose answer never came: running under this node, its owner in nobody's memory. */
async function leaveRunning(cluster: Cluster, node: LocalNode, task: string, gated: boolean): Promise<void> {
  const { nodeId } = node.events('node.registered').at(-1) as { nodeId: string }
  await cluster.query(`INSERT INTO sched_executions (namespace, execution_id, task_name, fire_time, slot_key, state, origin, node_id, owner, fencing_token, attempt, crash_count, due_at, created_at, definition_hash)
    SELECT namespace, ?, task_name, 1, 'cron', 'running', 'scheduled', ?, 'forgotten', 1, 1, 0, 1, 1, definition_hash FROM sched_tasks WHERE task_name = ?`, [`orphan of ${task}`, nodeId, task])
  if (gated) await cluster.query(`UPDATE sched_tasks SET gate_owner = 'forgotten', gate_node = ? WHERE task_name = ?`, [nodeId, task])
}

onStores((scenario) => {
  scenario('P6: a running row of this node that it knows nothing of is recovered and runs, its gate too', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('job', { everyMs: far }, () => {})
    await node.scheduler.start()
    await leaveRunning(cluster, node, 'job', true)
    await node.event('execution.recovered', ({ executionId }) => executionId === 'orphan of job')
    expect(await node.event('execution.succeeded', ({ executionId }) => executionId === 'orphan of job')).toMatchObject({ attempt: 2 })
  })

  scenario('P6: a handler that never settles does not hide an orphan of another task', async (cluster) => {
    const node = cluster.node({ abortGraceMs: 50 })
    const never = new AbortController()
    node.scheduler.task('deaf', { everyMs: 1_000, timeoutMs: 50 }, () => new Promise((resolve) => { never.signal.addEventListener('abort', resolve) }))
    node.scheduler.task('wide', { everyMs: far, overlap: 'allow' }, () => {})
    await node.scheduler.start()
    try {
      await node.event('task.stuck')
      await leaveRunning(cluster, node, 'wide', false)
      await node.event('execution.recovered', ({ executionId }) => executionId === 'orphan of wide')
    } finally {
      never.abort()
    }
  })

  scenario('P6: a slot whose claimer left it before its start is started by another', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('job', { everyMs: far }, () => {})
    await node.scheduler.start()
    await cluster.query(`INSERT INTO sched_executions (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash) SELECT namespace, 'left', task_name, 1, 'cron', 'pending', 'scheduled', 0, 0, 1, 1, definition_hash FROM sched_tasks`)
    expect(await node.event('execution.succeeded', ({ executionId }) => executionId === 'left')).toMatchObject({ attempt: 1 })
    await sleep(2_500) // heartbeats
    expect(node.events('execution.started')).toHaveLength(1)
  })
}, every)
