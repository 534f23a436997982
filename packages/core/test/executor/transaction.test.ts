import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { TaskContext } from '../../src/executor/task-context.ts'
import { isSchedError, type ErrorCode } from '../../src/errors.ts'
import type { Cluster } from './cluster.ts'
import { execute } from './driver-client.ts'
import { onStores } from './on-stores.ts'
import { every, far } from './scenarios.ts'

const withCode = (code: ErrorCode): unknown => expect.toSatisfy((error: unknown) => isSchedError(error, code))

onStores((scenario, product) => {
  /** Runs a task once and waits for its end. Resolves with what the handler threw, if it did. */
  async function once(cluster: Cluster, handler: (context: TaskContext) => unknown, { leaseMs = 30_000 }: { leaseMs?: number } = {}) {
    await cluster.query('CREATE TABLE effects (what VARCHAR(40) NOT NULL)')
    const node = cluster.node({ leaseMs })
    let thrown: unknown
    node.scheduler.task('job', { everyMs: far }, async (context) => {
      try { await handler(context) } catch (error) { thrown = error; throw error }
    })
    await node.scheduler.start()
    await node.scheduler.trigger('job')
    const { fireTime } = await node.event('execution.started')
    const ended = await Promise.race([node.event('execution.succeeded'), node.event('execution.failed'), node.event('execution.fenced')])
    const row = (await cluster.executions('job')).find(({ fire_time }) => fire_time === fireTime)
    return { node, thrown, row, ended, effects: (await cluster.query('SELECT what FROM effects ORDER BY what')).map(({ what }) => what) }
  }

  const insert = (what: string) => (client: unknown): Promise<void> => execute(client, `INSERT INTO effects (what) VALUES ('${what}')`)

  /** Moves the execution on under another owner on another live node, as a recovery and a new start would. */
  async function steal(cluster: Cluster, { executionId }: TaskContext): Promise<void> {
    await cluster.query(`INSERT INTO sched_nodes (namespace, node_id, state, lease_until, started_at, revision) VALUES ('test', 'elsewhere', 'alive', ${cluster.nowMs} + 60000, 1, 0)`)
    await cluster.query(`UPDATE sched_executions SET node_id = 'elsewhere', owner = 'thief', fencing_token = fencing_token + 1 WHERE execution_id = ?`, [executionId])
  }

  scenario('P8: the task\'s writes and its success are committed together', async (cluster) => {
    const { row, effects } = await once(cluster, (ctx) => ctx.transaction(async (client) => {
      await insert('a')(client)
      // Nothing of it is there for others before the commit.
      expect(await cluster.query('SELECT what FROM effects')).toEqual([])
      await insert('b')(client)
    }))
    expect(row).toMatchObject({ state: 'succeeded', attempt: 1 })
    expect(effects).toEqual(['a', 'b'])
    expect(await cluster.query('SELECT gate_owner FROM sched_tasks')).toEqual([{ gate_owner: null }])
  })

  scenario('P8: when fn throws neither its writes nor the success are there, and its own error counts', async (cluster) => {
    const { row, effects, thrown } = await once(cluster, (ctx) => ctx.transaction(async (client) => {
      await insert('a')(client)
      throw new Error('out of paper')
    }))
    expect((thrown as Error).message).toBe('out of paper')
    expect(row).toMatchObject({ state: 'failed', error_code: 'SCHED_TASK_FAILED', error_text: 'out of paper' })
    expect(effects).toEqual([])
  })

  scenario('P8: a zombie\'s transaction commits nothing and is reported as fenced', async (cluster) => {
    const { row, effects, thrown, node } = await once(cluster, async (ctx) => {
      await steal(cluster, ctx)
      await ctx.transaction(insert('zombie'))
    })
    expect(thrown).toEqual(withCode('SCHED_FENCED'))
    expect(row).toMatchObject({ state: 'running', owner: 'thief' })
    expect(effects).toEqual([])
    expect(node.events('execution.fenced')).toHaveLength(1)
  })

  scenario('P8: a second ctx.transaction is refused, and what came with the first stays', async (cluster) => {
    const { row, effects, thrown, node } = await once(cluster, async (ctx) => {
      await ctx.transaction(insert('first'))
      await ctx.transaction(insert('second'))
    })
    expect(thrown).toEqual(withCode('SCHED_TRANSACTION_REPEATED'))
    expect(row).toMatchObject({ state: 'succeeded' })
    expect(effects).toEqual(['first'])
    expect(node.events('execution.failed')).toEqual([])
  })

  scenario('P8: an error after ctx.transaction is an event only', async (cluster) => {
    const { row, node } = await once(cluster, async (ctx) => {
      await ctx.transaction(insert('done'))
      throw new Error('too late to matter')
    })
    expect(row).toMatchObject({ state: 'succeeded' })
    expect((await node.event('error', ({ error }) => error.message === 'too late to matter')).where).toContain('job')
    expect(node.events('execution.retry')).toEqual([])
  })

  scenario('P8: ctx.guarded commits portions under the same guard without completing', async (cluster) => {
    const { row, effects, thrown } = await once(cluster, async (ctx) => {
      await ctx.guarded(insert('1'))
      await ctx.guarded(insert('2'))
      expect((await cluster.executions('job'))[0]).toMatchObject({ state: 'running' })
      await steal(cluster, ctx)
      await ctx.guarded(insert('3'))
    })
    expect(thrown).toEqual(withCode('SCHED_FENCED'))
    expect(effects).toEqual(['1', '2'])
    expect(row).toMatchObject({ state: 'running', owner: 'thief' })
  })

  scenario('P8: portions by ctx.guarded, and the last one by ctx.transaction', async (cluster) => {
    const { row, effects } = await once(cluster, async (ctx) => {
      await ctx.guarded(insert('1'))
      await ctx.transaction(insert('2'))
    })
    expect(row).toMatchObject({ state: 'succeeded' })
    expect(effects).toEqual(['1', '2'])
  })

  scenario('P8: the client is the driver\'s own', async (cluster) => {
    let client: unknown
    await once(cluster, (ctx) => ctx.transaction((given) => { client = given }))
    expect(typeof (client as { query?: unknown; exec?: unknown })[product === 'SQLite' ? 'exec' : 'query']).toBe('function')
  })

  if (product === 'SQLite') {
    scenario('P6: on SQLite a transaction that stays open too long is rolled back, and others can write again', async (cluster) => {
      const { row, effects, thrown } = await once(cluster, (ctx) => ctx.transaction(async (client) => {
        await insert('slow')(client)
        await sleep(6_500) // the budget is a third of the lease: 5,000 ms
      }), { leaseMs: 15_000 })
      expect(thrown).toEqual(withCode('SCHED_TRANSACTION_TOO_LONG'))
      expect(row).toMatchObject({ state: 'failed', error_code: 'SCHED_TRANSACTION_TOO_LONG' })
      expect(effects).toEqual([])
    })
  }
}, every)
