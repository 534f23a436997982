import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createLocks, createScheduler, type Scheduler, type SchedulerOptions } from '@sched/core'
import { tableNames } from '@sched/core/spi'
import { lockTable } from '@sched/dialect-locktable'
import { createRequire } from 'node:module'
import { sqlserver, type TediousConnection } from '../src/index.ts'
import { fragments } from '../src/store/fragments.ts'
import { slotInsert } from '../src/store/slot-insert.ts'
import { eventually, openStore, startStandIn } from './support/scene.ts'
import type { TdsServerStandIn } from './stand-in/tds-server-stand-in.ts'
import type { SqlRow } from '@sched/core/spi'

const { Request } = createRequire(import.meta.url)('tedious') as { Request: new (text: string, done: (error?: Error | null) => void) => object }

const execute = (connection: TediousConnection, text: string): Promise<void> => new Promise((resolve, reject) => {
  connection.execSql(new Request(text, (error) => { if (error) reject(error); else resolve() }) as never)
})

function node(standIn: TdsServerStandIn, options: Partial<SchedulerOptions<TediousConnection>> = {}, user = 'sched'): { scheduler: Scheduler<TediousConnection>; problems: unknown[] } {
  const dialect = sqlserver({ url: standIn.urlOf(user) })
  const scheduler = createScheduler<TediousConnection>({ dialect, namespace: 'test', signals: false, drainMs: 200, abortGraceMs: 200, leaseMs: 12_000, heartbeatMs: 2_000, ...options })
  const problems: unknown[] = []
  scheduler.on('error', (event) => { problems.push(event) })
  scheduler.on('warning', (event) => { problems.push(event) })
  onTestFinished(async () => {
    await scheduler.stop()
    await dialect.close()
  })
  return { scheduler, problems }
}

async function rows(standIn: TdsServerStandIn, text: string): Promise<readonly SqlRow[]> {
  const session = await openStore(sqlserver({ url: standIn.url }))
  try { return (await session.run({ text, params: [] })).rows } finally { session.destroy() }
}

describe('the ledger on the TDS stand-in', () => {
  it('ten instances that boot together on an empty database all start (2714, 1913)', async () => {
    const standIn = await startStandIn()
    const nodes = Array.from({ length: 10 }, () => node(standIn, { lockVeto: 'off' }))
    for (const { scheduler } of nodes) scheduler.task('job', { everyMs: 3_600_000 }, async () => {})
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    expect(nodes.flatMap(({ problems }) => problems)).toEqual([])
    expect(await rows(standIn, 'SELECT task_name FROM [sched_tasks]')).toEqual([{ task_name: 'job' }])
  }, 60_000)

  it('each fire time runs once on two instances, with its effects and its success in one transaction (P1, P8)', async () => {
    const standIn = await startStandIn()
    await rows(standIn, fragments.createTable('[effects]', `fire_time ${fragments.types.integer} NOT NULL`))
    const nodes = [node(standIn), node(standIn)]
    for (const { scheduler } of nodes) {
      scheduler.task('job', { everyMs: 1_000 }, (ctx) => ctx.transaction((connection) => execute(connection, `INSERT INTO [effects] (fire_time) VALUES (${ctx.fireTime.getTime()})`)))
    }
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    await eventually(async () => (await rows(standIn, "SELECT execution_id FROM [sched_executions] WHERE state = 'succeeded'")).length >= 4, 25_000)
    await Promise.all(nodes.map(({ scheduler }) => scheduler.stop()))
    const effects = (await rows(standIn, 'SELECT fire_time FROM [effects] ORDER BY fire_time')).map((row) => row['fire_time'])
    const succeeded = (await rows(standIn, "SELECT fire_time, task_name FROM [sched_executions] WHERE state = 'succeeded' ORDER BY fire_time"))
    expect(succeeded.map((row) => row['fire_time'])).toEqual(effects)
    expect(new Set(effects).size).toBe(effects.length)
    expect(new Set(succeeded.map((row) => row['task_name']))).toEqual(new Set(['job']))
    expect(nodes.flatMap(({ problems }) => problems)).toEqual([])
  }, 60_000)

  it('a COMMIT whose answer was lost is read back: the effect is there once, and so is the success (P8)', async () => {
    const standIn = await startStandIn()
    await rows(standIn, fragments.createTable('[effects]', `n ${fragments.types.integer} NOT NULL`))
    const { scheduler } = node(standIn)
    let calls = 0
    scheduler.task('job', { everyMs: 1_000 }, async (ctx) => {
      calls += 1
      if (calls > 1) return
      await ctx.transaction(async (connection) => {
        await execute(connection, 'INSERT INTO [effects] (n) VALUES (1)')
        standIn.faults.drop.push({ request: 'commit', at: 'answer' })
      })
    })
    await scheduler.start()
    await eventually(async () => calls > 1 && (await rows(standIn, "SELECT execution_id FROM [sched_executions] WHERE state = 'succeeded'")).length > 0, 20_000)
    expect(await rows(standIn, 'SELECT n FROM [effects]')).toEqual([{ n: 1 }])
  }, 60_000)

  it('a node that vanished is replaced, and what it ran runs again (P6)', async () => {
    const standIn = await startStandIn()
    const options = { leaseMs: 3_000, heartbeatMs: 300 }
    const [first, second] = [node(standIn, options), node(standIn, options, 'limited')]
    const started: string[] = []
    for (const [name, { scheduler }] of [['first', first], ['second', second]] as const) {
      scheduler.task('job', { everyMs: 1_000 }, async (ctx) => {
        started.push(`${name} ${ctx.reason}`)
        if (name === 'first') await sleep(60_000, undefined, { signal: ctx.signal }).catch(() => {})
      })
    }
    await first.scheduler.start()
    await eventually(() => started.includes('first scheduled'), 15_000)
    await second.scheduler.start()
    // Its connections break, and none comes back.
    standIn.faults.refusesUser = 'sched'
    for (const session of standIn.sessions().filter(({ login }) => login?.user === 'sched')) session.end()
    await eventually(() => started.includes('second recovered'), 20_000)
    standIn.faults.refusesUser = undefined
  }, 60_000)

  it('connections cut before and after any statement and COMMIT leave one effect for each success (P1, P7, P8)', async () => {
    const standIn = await startStandIn()
    await rows(standIn, fragments.createTable('[effects]', `execution_id ${fragments.types.ascii(64)} NOT NULL`))
    const options = { leaseMs: 3_000, heartbeatMs: 300 }
    const nodes = [node(standIn, options), node(standIn, options)]
    for (const { scheduler } of nodes) {
      scheduler.task('job', { everyMs: 1_000, retry: { max: 5, backoffMs: 50 } }, (ctx) => ctx.transaction((connection) => execute(connection, `INSERT INTO [effects] (execution_id) VALUES ('${ctx.executionId}')`)))
    }
    await Promise.all(nodes.map(({ scheduler }) => scheduler.start()))
    const kinds = [['statement', 'request'], ['commit', 'answer'], ['statement', 'answer'], ['commit', 'request']] as const
    for (let cut = 0; cut < 48; cut += 1) {
      const [request, at] = kinds[cut % kinds.length]!
      standIn.faults.drop.push({ request, at })
      await sleep(130)
    }
    standIn.faults.drop.length = 0
    const inState = async (state: string): Promise<number> => (await rows(standIn, `SELECT execution_id FROM [sched_executions] WHERE state = '${state}'`)).length
    await eventually(async () => await inState('succeeded') > 2 && await inState('running') === 0, 30_000)
    await Promise.all(nodes.map(({ scheduler }) => scheduler.stop()))
    const effects = (await rows(standIn, 'SELECT execution_id FROM [effects] ORDER BY execution_id')).map((row) => row['execution_id'])
    const succeeded = (await rows(standIn, "SELECT execution_id FROM [sched_executions] WHERE state = 'succeeded' ORDER BY execution_id")).map((row) => row['execution_id'])
    expect(succeeded.length).toBeGreaterThan(2)
    expect(effects).toEqual(succeeded)
  }, 60_000)

  it('the slot statement answers won, taken and ineligible in one round trip, and losing is no error', async () => {
    const standIn = await startStandIn()
    const { scheduler } = node(standIn)
    scheduler.task('job', { everyMs: 86_400_000 }, async () => {})
    await scheduler.start()
    const tables = tableNames(fragments)
    const session = await openStore(sqlserver({ url: standIn.url }))
    const [task] = (await session.run({ text: `SELECT definition_hash, armed_from FROM ${tables.tasks} WHERE task_name = ?`, params: ['job'] })).rows
    const fireTime = task?.['armed_from'] as number + 1
    const slot = { namespace: 'test', executionId: 'a', taskName: 'job', definitionHash: task?.['definition_hash'] as string, fireTime, dueAt: fireTime, maxClaimAgeMs: 60_000, toleranceMs: 250 }
    const claim = async (changes: Partial<typeof slot>): Promise<SqlRow | undefined> => (await session.run(slotInsert(tables, { ...slot, ...changes }))).rows[0]
    expect(await claim({})).toMatchObject({ won: 1, eligible: 1 })
    expect(await claim({ executionId: 'b' })).toMatchObject({ won: 0, eligible: 1 })
    expect(await claim({ executionId: 'c', fireTime: fireTime + 3_600_000 })).toMatchObject({ won: 0, eligible: 0 })
    expect(await claim({ executionId: 'd', definitionHash: 'another' })).toMatchObject({ won: 0, eligible: 0 })
    expect((await claim({ executionId: 'e', taskName: 'job ' }))?.['db_now']).toSatisfy(Number.isSafeInteger)
  }, 30_000)
})

describe('createLocks on the TDS stand-in', () => {
  it.each(['native', 'lock table'])('%s: acquires, refuses, fences and releases', async (kind) => {
    const standIn = await startStandIn()
    const inner = sqlserver({ url: standIn.url })
    const locks = createLocks({ dialect: kind === 'native' ? inner : lockTable(inner), namespace: 'test', ...(kind === 'native' ? { fencing: true } : {}) })
    onTestFinished(() => locks.close())
    let token = 0
    for (let round = 0; round < 3; round += 1) {
      const lease = await locks.acquire('order-close', { waitMs: 10_000 })
      expect(lease.fencingToken).toBeGreaterThan(token)
      token = lease.fencingToken ?? 0
      expect(await locks.tryAcquire('order-close')).toEqual({ status: 'refused' })
      expect(await locks.inspect('order-close')).not.toBeNull()
      expect(await lease.release()).toEqual({ status: 'released' })
    }
    await locks.close()
    expect(standIn.applocks.rows()).toEqual([])
  })
})
