import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { onStores } from './on-stores.ts'

onStores((scenario) => {
  scenario('P6: a handler that runs too long has its signal aborted and fails with the reason', async (cluster) => {
    const node = cluster.node()
    let reason: unknown
    node.scheduler.task('slow', { everyMs: 1_000, timeoutMs: 150 }, async ({ signal }) => {
      await sleep(10_000, undefined, { signal }).catch(() => { reason = signal.reason })
      signal.throwIfAborted()
    })
    await node.scheduler.start()
    const { executionId } = await node.event('execution.failed')
    expect(reason).toMatchObject({ code: 'SCHED_TASK_TIMEOUT' })
    expect((await cluster.executions('slow')).find((row) => row['execution_id'] === executionId)).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_TIMEOUT' })
    expect(node.events('task.stuck')).toEqual([])
  })

  scenario('P6: a handler that returns in spite of its timeout has not succeeded', async (cluster) => {
    const node = cluster.node()
    node.scheduler.task('slow', { everyMs: 1_000, timeoutMs: 100 }, () => sleep(200))
    await node.scheduler.start()
    await node.event('execution.failed')
    expect(node.events('execution.succeeded')).toEqual([])
  })

  scenario('P2: a handler that ignores its signal ends in the ledger, and keeps its gate until it settles', async (cluster) => {
    const node = cluster.node({ abortGraceMs: 100 })
    let running = 0
    let most = 0
    let release: () => void = () => {}
    const settled = new Promise<void>((resolve) => { release = resolve })
    node.scheduler.task('deaf', { everyMs: 1_000, timeoutMs: 100 }, async () => {
      running += 1
      most = Math.max(most, running)
      await settled
      running -= 1
    })
    await node.scheduler.start()
    const stuck = await node.event('task.stuck')
    expect((await cluster.executions('deaf')).find((row) => row['execution_id'] === stuck.executionId)).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_TIMEOUT' })
    expect(await cluster.query('SELECT gate_owner FROM sched_tasks')).toEqual([{ gate_owner: stuck.owner }])
    // Liveness comes second: the next fire times are skipped, and say why.
    await node.event('slot.skipped', ({ reason }) => reason === 'overlap')
    expect(await cluster.query('SELECT gate_owner FROM sched_tasks')).toEqual([{ gate_owner: stuck.owner }])
    // Once it settles the task runs again, without waiting for any lease.
    release()
    await node.event('execution.succeeded')
    expect(most).toBe(1)
  })

  scenario('P6: a worker is busy as long as its deaf handler is, and other tasks have the others', async (cluster) => {
    const node = cluster.node({ abortGraceMs: 50, concurrency: 2 })
    let release: () => void = () => {}
    const settled = new Promise<void>((resolve) => { release = resolve })
    node.scheduler.task('deaf', { everyMs: 1_000, timeoutMs: 50 }, () => settled)
    node.scheduler.task('other', { everyMs: 1_000 }, () => {})
    await node.scheduler.start()
    await node.event('task.stuck')
    await node.event('execution.succeeded', ({ task }) => task === 'other')
    release()
  })
})
