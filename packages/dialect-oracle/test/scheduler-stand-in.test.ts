import { randomUUID } from 'node:crypto'
import { createLocks, createScheduler, type Scheduler, type SchedulerOptions } from '@sched/core'
import type { SqlRow } from '@sched/core/spi'
import { describe, expect, it, onTestFinished } from 'vitest'
import { oracle, type OracleConnection } from '../src/index.ts'
import { Ground, tables } from './support/ground.ts'

type Client = OracleConnection & { execute(text: string, binds: object): Promise<object> }

function schedulerOn(ground: Ground, options: Partial<SchedulerOptions<Client>> = {}): Scheduler<Client> {
  const dialect = oracle<Client>({ url: ground.wire.url })
  const scheduler = createScheduler<Client>({ dialect, namespace: 'stand-in', leaseMs: 6_000, signals: false, drainMs: 2_000, ...options })
  onTestFinished(async () => {
    await scheduler.stop()
    await dialect.close()
  })
  return scheduler
}

async function rowsOf(ground: Ground, text: string, params: readonly (string | number)[] = []): Promise<readonly SqlRow[]> {
  const session = await ground.openStore()
  try { return (await session.run({ text, params })).rows } finally { session.destroy() }
}

const executions = `SELECT fire_time, state, attempt FROM ${tables.executions} WHERE task_name = ? ORDER BY fire_time`

describe('stand-in at the wire: createScheduler', () => {
  it('lets ten instances boot together on an empty database', async () => {
    const ground = await Ground.start()
    const schedulers = Array.from({ length: 10 }, () => schedulerOn(ground, { leaseMs: 30_000 }))
    for (const scheduler of schedulers) scheduler.task('yearly', { cron: '0 0 0 1 1 *' }, () => {})
    await Promise.all(schedulers.map((scheduler) => scheduler.start()))
    expect(await rowsOf(ground, `SELECT meta_value FROM ${tables.meta} WHERE meta_key = 'schema_version'`)).toHaveLength(1)
    expect(await rowsOf(ground, `SELECT node_id FROM ${tables.nodes} WHERE state = 'alive'`)).toHaveLength(10)
  }, 90_000)

  it('runs each fire time once, on one of three instances', async () => {
    const ground = await Ground.start()
    const started: number[] = []
    const schedulers = Array.from({ length: 3 }, () => schedulerOn(ground))
    for (const scheduler of schedulers) scheduler.task('each-second', { everyMs: 1_000 }, (context) => { started.push(context.fireTime.getTime()) })
    await Promise.all(schedulers.map((scheduler) => scheduler.start()))
    await expect.poll(() => started.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(5)
    await Promise.all(schedulers.map((scheduler) => scheduler.stop()))
    expect(new Set(started).size).toBe(started.length)
    const rows = await rowsOf(ground, executions, ['each-second'])
    expect(rows.filter(({ state }) => state === 'succeeded')).toHaveLength(started.length)
    expect(rows.every(({ attempt }) => Number(attempt) <= 1)).toBe(true)
  }, 90_000)

  it('commits the effects of ctx.transaction together with the success, and neither without the other', async () => {
    const ground = await Ground.start()
    await rowsOf(ground, 'CREATE TABLE effects (what VARCHAR2(40 CHAR) NOT NULL, PRIMARY KEY (what))')
    const scheduler = schedulerOn(ground)
    let runs = 0
    scheduler.task('pays', { everyMs: 1_000 }, async (context) => {
      runs += 1
      const run = runs
      if (run > 2) return
      await context.transaction(async (client) => {
        await client.execute('INSERT INTO effects (what) VALUES (:1)', { 1: `run ${run}` })
        if (run === 2) throw new Error('out of paper')
      })
    })
    await scheduler.start()
    await expect.poll(() => runs, { timeout: 30_000 }).toBeGreaterThanOrEqual(3)
    await scheduler.stop()
    expect(await rowsOf(ground, 'SELECT what FROM effects')).toEqual([{ what: 'run 1' }])
    // A fire time that came too late has a row, and never ran.
    expect((await rowsOf(ground, executions, ['pays'])).filter(({ attempt }) => Number(attempt) > 0).slice(0, 2).map(({ state }) => state)).toEqual(['succeeded', 'failed'])
  }, 90_000)

  it('P6: a sweep skips the row that a frozen transaction holds, says so, lives on, and recovers it when it is free', async () => {
    const ground = await Ground.start()
    const scheduler = schedulerOn(ground)
    const runs: string[] = []
    scheduler.task('settle', { cron: '0 0 0 1 1 *' }, (context) => { runs.push(context.reason) })
    await scheduler.start()

    // A node that died in the middle: its row says running, and a transaction of its process, frozen before COMMIT, holds that row.
    const frozen = await ground.openStore('transaction')
    const now = Date.now()
    const [task] = await rowsOf(ground, `SELECT definition_hash FROM ${tables.tasks} WHERE task_name = 'settle'`)
    const [dead, executionId] = [randomUUID(), randomUUID()]
    await frozen.run({ text: `INSERT INTO ${tables.nodes} (namespace, node_id, state, lease_until, started_at, revision) VALUES ('stand-in', ?, 'dead', ?, ?, 0)`, params: [dead, now - 1_000, now - 9_000] })
    await frozen.run({
      text: `INSERT INTO ${tables.executions} (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash, node_id, owner, fencing_token)
 VALUES ('stand-in', ?, 'settle', ?, 'cron', 'running', 'scheduled', 1, 0, ?, ?, ?, ?, 'its-owner', 7)`,
      params: [executionId, now - 5_000, now - 5_000, now - 5_000, String(task?.['definition_hash']), dead],
    })
    await frozen.begin()
    await frozen.run({ text: `UPDATE ${tables.executions} SET state = 'succeeded' WHERE namespace = 'stand-in' AND execution_id = ?`, params: [executionId] })

    const blocked: string[] = []
    const lost: unknown[] = []
    scheduler.on('recovery.blocked', ({ what }) => { blocked.push(...what) })
    scheduler.on('node.lost', (event) => { lost.push(event) })
    await expect.poll(() => blocked.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(2)
    expect(blocked).toContain(executionId)
    expect(lost).toEqual([])
    frozen.destroy()
    await expect.poll(() => runs, { timeout: 30_000 }).toEqual(['recovered'])
  }, 90_000)

  it('keeps a definition of any length', async () => {
    const ground = await Ground.start()
    const scheduler = schedulerOn(ground)
    const cron = `0 ${Array.from({ length: 1_430 }, (_, minute) => minute % 60).join(',')} * * * *`
    scheduler.task('long', { cron }, () => {})
    await scheduler.start()
    const [row] = await rowsOf(ground, `SELECT spec FROM ${tables.tasks} WHERE task_name = 'long'`)
    expect(String(row?.['spec']).length).toBeGreaterThan(4_000)
  }, 90_000)
})

describe('stand-in at the wire: createLocks', () => {
  it('takes turns between two processes\' worth of libraries, and gives tokens when asked', async () => {
    const ground = await Ground.start()
    const [one, two] = [createLocks({ dialect: oracle({ url: ground.wire.url }), fencing: true }), createLocks({ dialect: oracle({ url: ground.wire.url }), fencing: true })]
    onTestFinished(async () => { await one.close(); await two.close() })
    const tokens: (number | undefined)[] = []
    let inside = 0
    await Promise.all([one, two].flatMap((locks) => Array.from({ length: 4 }, () => locks.with('till', async (lease) => {
      inside += 1
      expect(inside).toBe(1)
      tokens.push(lease.fencingToken)
      await new Promise((resolve) => { setTimeout(resolve, 20) })
      inside -= 1
    }, { waitMs: 20_000 }))))
    expect(tokens.every((token, index) => token !== undefined && token > (tokens[index - 1] ?? 0))).toBe(true)
  }, 90_000)
})
