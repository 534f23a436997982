import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { ArmedTask } from '../../src/executor/armed-task.ts'
import type { Executor } from '../../src/executor/executor.ts'
import { settleMissedSlots } from '../../src/executor/missed-scan.ts'
import { defineTask, type TaskOptions } from '../../src/executor/task-definition.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { migrate } from '../../src/ledger/migrate.ts'
import { readTask } from '../../src/ledger/tasks.ts'
import type { SqlSession, Statement } from '../../src/spi/sql-session.ts'
import { Scene } from '../ledger/scene.ts'
import { emptySqlite, StoreGround } from '../ledger/store-ground.ts'

const dayMs = 86_400_000

// Hundreds of rows, each of them a commit.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 })

let ground: StoreGround
beforeAll(async () => {
  ground = new StoreGround(await emptySqlite())
  await migrate(ground.migration())
})
afterAll(() => ground.end())

/** One scan of a task that nobody has looked at for so long; `ran`: it did until so many milliseconds ago. */
async function scan(options: TaskOptions, awayMs: number, ranMs = awayMs) {
  const scene = new Scene(ground)
  const now = await scene.now()
  const definition = defineTask('job', options, () => {}, {})
  await scene.addTask('job', { armed_from: now - awayMs, definition_hash: definition.hash })
  const row = await readTask(scene.ledger, 'job')
  if (row === undefined) throw new Error('the task was just added')
  for (let at = definition.schedule.next(now - awayMs) as number; at <= now - ranMs; at = definition.schedule.next(at) as number) await scene.addExecution({ fire_time: at, state: 'succeeded' })
  let mostRows = 0
  const block: Ledger['store']['block'] = (what, work, more) => scene.ledger.store.block(what, (sql) => work(Object.create(sql, {
    run: { value: async (statement: Statement) => {
      const result = await sql.run(statement)
      mostRows = Math.max(mostRows, result.rows.length)
      return result
    } },
  }) as SqlSession), more)
  const ledger = { ...scene.ledger, store: { run: scene.ledger.store.run.bind(scene.ledger.store), block } } as Ledger
  const executor: Pick<Executor, 'ledger' | 'databaseClock' | 'leaseMs'> = { ledger, databaseClock: { nowMs: () => now } as Executor['databaseClock'], leaseMs: 30_000 }
  const outcome = await settleMissedSlots(executor as Executor, new ArmedTask(definition, row), now)
  return { scene, outcome, mostRows, first: definition.schedule.next(now - awayMs), latest: definition.schedule.previous(now) }
}

it.each<[string, TaskOptions]>([['an interval', { everyMs: 1000 }], ['a cron expression', { cron: '* * * * * *' }]])(
  'P6: after more fire times than a scan lists, run-once runs the latest, and all others are one record: %s', async (_, options) => {
    const { scene, outcome, first, latest } = await scan(options, 7 * dayMs)
    expect(outcome).toMatchObject({ caughtUp: [latest], more: false })
    const rows = await scene.executions()
    expect(rows).toMatchObject([{ state: 'missed', missed_from: first, fire_time: (latest as number) - 1000 }, { state: 'pending', origin: 'catchup', fire_time: latest }])
    // The listed ones at least; what an interval has besides is known by arithmetic.
    expect(rows[0]?.['missed_count']).toBeGreaterThanOrEqual(499_999)
    if (options.everyMs !== undefined) expect(rows[0]?.['missed_count']).toBe(((latest as number) - (first as number)) / 1000)
    expect((await scene.task())['armed_from']).toBe(latest)
  })

it('P6: after an outage run-all looks back two leases at least, like the queue', async () => {
  const { scene, outcome, latest } = await scan({ everyMs: 10_000, misfire: 'run-all', runAll: { maxAgeMs: 5000 } }, 300_000)
  expect(outcome).toMatchObject({ caughtUp: { length: 6 }, more: false })
  expect(outcome).toMatchObject({ caughtUp: expect.arrayContaining([latest]) as unknown })
  expect(await scene.executions()).toContainEqual(expect.objectContaining({ state: 'missed', missed_count: 24 }))
})

it('P6: a scan does not read under the lock of the task what ran before the outage', async () => {
  const { outcome, mostRows, latest } = await scan({ everyMs: 1000 }, 600_000, 5000)
  expect(outcome).toMatchObject({ caughtUp: [latest] })
  expect(mostRows).toBeLessThan(10)
})
