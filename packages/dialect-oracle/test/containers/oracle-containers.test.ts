import { createScheduler } from '@sched/core'
import { lockTable } from '@sched/dialect-locktable'
import { runConformance, type Report } from '@sched/selftest'
import type { Dialect, LockConnection, SqlSession } from '@sched/core/spi'
import { describe, expect, it } from 'vitest'
import { oracle } from '../../src/index.ts'
import { fragments } from '../../src/store/fragments.ts'
import { errorOf, holdingOf, nameOf, requestFor } from '../support/ground.ts'
import { containersObstacle, images, startOracle, type OracleImage } from './oracle-container.ts'

// What the stand-in can only repeat from documents, asked of the servers themselves. Each is a line of the checklist in docs/databases.md.
const obstacle = await containersObstacle()
const options = { signal: new AbortController().signal, leaseMs: 30_000, label: 'sched:containers:test' }
const open = (dialect: Dialect): Promise<LockConnection> => dialect.locks.open('pulse', options)
const openStore = async (dialect: Dialect): Promise<SqlSession> => {
  const { store } = dialect
  if (store === undefined) throw new Error('the dialect has no store')
  return store.open('store', { ...options, statementMs: 5_000, rowLockMs: 1_000, sharedSessions: false })
}
const failures = ({ cases }: Report): string[] => cases.filter(({ verdict }) => verdict === 'fail').map(({ id, failure }) => `${id}: ${failure?.message}`)

for (const image of Object.keys(images) as OracleImage[]) {
  describe.skipIf(obstacle !== undefined)(`Oracle ${image} in a container${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`, () => {
    it('passes the suite, native locks and lock table, and is what is documented of it', async () => {
      await using server = await startOracle(image)
      const { url, plainUrl } = server
      for (const dialect of [oracle({ url }), lockTable(oracle({ url }))]) {
        const report = await runConformance(dialect, { url, allowKill: true })
        expect(failures(report)).toEqual([])
        expect(report.verdict).toBe('passed')
        await dialect.close()
      }
      const dialect = oracle({ url })
      await locksAreAsDocumented(dialect)
      await rowsAreAsDocumented(dialect)
      await theClockIsWhole(dialect)
      await dialect.close()
      await theLedgerRuns(plainUrl)
      await grantsAreAsDocumented(oracle({ url: plainUrl }))
    }, 1_800_000)
  })
}

async function locksAreAsDocumented(dialect: Dialect): Promise<void> {
  const { locks } = dialect
  const { strategy } = locks
  const [one, two] = [await open(dialect), await open(dialect)]
  const request = requestFor(nameOf('documented'))
  expect(await strategy.tryLock(one, request)).toEqual({ status: 'granted' })
  // Status 4 is not counted: asked three times (isHeld asks), one RELEASE frees it.
  for (let asked = 0; asked < 3; asked += 1) expect(await strategy.isHeld(one, holdingOf(request))).toBe('mine')
  expect(await strategy.tryLock(two, requestFor(request.name))).toEqual({ status: 'refused' })
  // The first ten digits of a handle are the number that gv$lock shows.
  expect(await strategy.inspect(two, request.name)).toMatchObject({ sessionId: one.id })
  expect(await strategy.release(one, holdingOf(request))).toEqual({ status: 'released' })
  expect(await strategy.release(one, holdingOf(request))).toEqual({ status: 'not-held' })
  // A waiter that is destroyed leaves the queue before its time: the break reaches the server in the middle of REQUEST.
  await strategy.tryLock(one, request)
  const waiter = await dialect.locks.open('wait', options)
  const waiting = strategy.lock?.(waiter, requestFor(request.name), 60_000).catch((error: unknown) => locks.classify(error))
  await new Promise((resolve) => { setTimeout(resolve, 1_000) })
  waiter.destroy()
  expect(await waiting).toBe('connection-lost')
  await expect.poll(async () => (await dialect.locks.diagnostics?.sessions(two, options.label))?.includes(String(waiter.id)), { timeout: 10_000 }).toBe(false)
  one.destroy()
  two.destroy()
}

async function rowsAreAsDocumented(dialect: Dialect): Promise<void> {
  const [one, two] = [await openStore(dialect), await openStore(dialect)]
  const table = fragments.quote('sched_documented')
  await one.run({ text: fragments.createTable(table, `id ${fragments.types.integer} NOT NULL, note ${fragments.types.name(128)}, PRIMARY KEY (id)`), params: [] })
  expect(dialect.store?.classify(await errorOf(one.run({ text: fragments.createTable(table, 'id NUMBER(19)'), params: [] })))).toBe('already-exists')
  await one.run({ text: `INSERT INTO ${table} (id, note) VALUES (?, ?)`, params: [1, ''] })
  await one.begin()
  await one.run({ text: `UPDATE ${table} SET note = ? WHERE id = ?`, params: ['held', 1] })
  const startedAt = performance.now()
  expect(dialect.store?.classify(await errorOf(two.run({ text: `UPDATE ${table} SET note = ? WHERE id = ?`, params: ['wanted', 1] })))).toBe('lock-timeout')
  expect(performance.now() - startedAt).toBeGreaterThan(950)
  await one.rollback()
  expect((await two.run({ text: `UPDATE ${table} SET note = ? WHERE id = ?`, params: ['ä '.repeat(60), 1] })).affected).toBe(1)
  expect((await two.run({ text: `DELETE FROM ${table} WHERE note = ?`, params: ['Ä '.repeat(60)] })).affected).toBe(0)
  await two.run({ text: `DROP TABLE ${table}`, params: [] })
  one.destroy()
  two.destroy()
}

/** The parts of one reading belong together: none of many readings steps back, or aside by a second or a minute. */
async function theClockIsWhole(dialect: Dialect): Promise<void> {
  const session = await openStore(dialect)
  let [least, most, last] = [Infinity, -Infinity, 0]
  const endsAt = performance.now() + 70_000 // over a full minute
  while (performance.now() < endsAt) {
    const { rows: [row] } = await session.run({ text: `SELECT ${fragments.nowMs} AS db_now FROM DUAL`, params: [] })
    const now = Number(row?.['db_now'])
    expect(now).toBeGreaterThanOrEqual(last)
    last = now
    const offset = now - Date.now()
    least = Math.min(least, offset)
    most = Math.max(most, offset)
  }
  expect(most - least).toBeLessThan(900)
  session.destroy()
}

/** The tables are made, and every statement of a start, a finish and a heartbeat is understood; as a user who may have tables and no more. */
async function theLedgerRuns(url: string): Promise<void> {
  const dialect = oracle({ url })
  const schedulers = [0, 1].map(() => createScheduler({ dialect, namespace: 'containers', leaseMs: 6_000, signals: false, drainMs: 2_000 }))
  const started: number[] = []
  for (const scheduler of schedulers) {
    scheduler.task('each-second', { everyMs: 1_000 }, async (context) => {
      started.push(context.fireTime.getTime())
      if (started.length === 1) throw new Error('once')
      await context.transaction(() => {})
    })
  }
  await Promise.all(schedulers.map((scheduler) => scheduler.start()))
  await expect.poll(() => started.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(5)
  await Promise.all(schedulers.map((scheduler) => scheduler.stop()))
  await dialect.close()
  expect(new Set(started).size).toBe(started.length)
}

async function grantsAreAsDocumented(dialect: Dialect): Promise<void> {
  const { findings } = await dialect.locks.probe(options)
  expect(findings).toEqual(expect.arrayContaining([expect.objectContaining({ level: 'refuse', code: 'SCHED_PERMISSION' })]))
  const connection = await open(dialect)
  expect((await errorOf(dialect.locks.strategy.tryLock(connection, requestFor(nameOf('denied'))))).message).toContain('GRANT EXECUTE ON SYS.DBMS_LOCK')
  connection.destroy()
  await dialect.close()
}
