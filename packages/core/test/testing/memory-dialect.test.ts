import { expect, test } from 'vitest'
import { createLocks } from '../../src/index.ts'
import type { SessionOptions } from '../../src/spi/store-dialect.ts'
import type { SqlSession } from '../../src/spi/sql-session.ts'
import { manualClock, memoryDialect, type MemoryClient, type MemoryDialect } from '../../src/testing/index.ts'

const options: SessionOptions = { signal: new AbortController().signal, leaseMs: 3000, label: 'test', statementMs: 1000, rowLockMs: 500, sharedSessions: false }

function open(dialect: MemoryDialect): Promise<SqlSession<MemoryClient>> { return dialect.store.open('store', options) }

async function count(session: SqlSession): Promise<unknown> {
  return (await session.run({ text: 'SELECT COUNT(*) AS n FROM t', params: [] })).rows[0]?.['n']
}

/** A table, two sessions, and an error's class. */
async function scene(given: Partial<Parameters<typeof memoryDialect>[0]> = {}) {
  const clock = manualClock({ startAt: 0 })
  const dialect = memoryDialect({ clock, ...given })
  dialect.database.query('CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT) STRICT')
  const classOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'none', (error: unknown) => dialect.store.classify(error))
  return { clock, dialect, classOf, a: await clock.until(open(dialect)), b: await clock.until(open(dialect)) }
}

const insert = { text: 'INSERT INTO t (id, text) VALUES (?, ?)', params: [1, 'one'] } as const

test('one transaction writes; others are turned away at once, and read what is committed', async () => {
  const { a, b, classOf } = await scene()
  await a.begin()
  await a.run(insert)
  expect([await count(a), await count(b)]).toEqual([1, 0])
  expect(await classOf(b.begin())).toBe('contended')
  expect(await classOf(b.run(insert))).toBe('contended')
  await a.commit()
  expect(await count(b)).toBe(1)
  expect(await classOf(b.run(insert))).toBe('duplicate-key')
})

test('a rollback, and the end of a session, leave nothing behind', async () => {
  const { a, b } = await scene()
  await a.begin()
  await a.run(insert)
  await a.rollback()
  await b.begin()
  await b.run(insert)
  b.destroy()
  expect(await count(a)).toBe(0)
  await a.begin()
  await a.commit()
})

test('the client of a transaction works on it, and throws once the session has ended', async () => {
  const { a, b } = await scene()
  await a.begin()
  const statement = a.client.prepare('INSERT INTO t (id, text) VALUES (?, ?) RETURNING id')
  expect(statement.get(7, 'seven')).toEqual({ id: 7 })
  expect(a.client.prepare('UPDATE t SET text = ?').run('changed')).toMatchObject({ changes: 1 })
  a.client.exec('CREATE INDEX i ON t (text)')
  expect(() => { a.client.exec('COMMIT') }).toThrow(/by the session/)
  await a.commit()
  expect((await b.run({ text: 'SELECT text FROM t WHERE id = ?', params: [7] })).rows).toEqual([{ text: 'changed' }])
  a.destroy()
  expect(() => a.client.prepare('SELECT 1').get()).toThrow(/closed/)
})

test('the server ends a session that idles in a transaction, and says so', async () => {
  const { clock, a, b, classOf } = await scene()
  const lost: string[] = []
  a.onLost?.((cause) => { lost.push(cause.message) })
  await a.begin()
  await clock.advance(2000)
  await a.run(insert)
  await clock.advance(2999)
  expect(await classOf(b.begin())).toBe('contended')
  await clock.advance(1)
  expect(lost).toEqual(['the server ended the session: idle in a transaction for 3000 ms'])
  expect(await classOf(a.commit())).toBe('connection-lost')
  expect([await count(b), await classOf(b.begin())]).toEqual([0, 'none'])
})

test('errors have their class', async () => {
  const { a, classOf } = await scene()
  const run = (text: string): Promise<string> => classOf(a.run({ text, params: [] }))
  expect([await run('SELECT * FROM missing'), await run('CREATE TABLE t (id INTEGER)'), await run('SELEC 1'), await run('SELECT nothing_such()')]).toEqual(['missing-table', 'already-exists', 'unsupported', 'unsupported'])
  await expect(a.run({ text: 'SELECT ?', params: [] })).rejects.toThrow('1 marks was given 0 values')
})

test('its clock is the world’s, ahead or behind, and jumps; whole milliseconds, fixed within a statement', async () => {
  const { clock, dialect, a } = await scene({ aheadMs: 5000 })
  const now = async (): Promise<unknown> => (await a.run({ text: `SELECT ${dialect.store.sql.nowMs} AS now`, params: [] })).rows[0]?.['now']
  await clock.advance(10.7)
  clock.jumpWall(1_000_000)
  expect(await now()).toBe(5010)
  dialect.database.jumpClock(-6000)
  expect(await now()).toBe(-990)
  expect(dialect.database.nowMs).toBe(-990)
})

test('a database that is down lets nobody in, and forgets nothing that was committed', async () => {
  const { dialect, a, b, classOf } = await scene()
  await a.run(insert)
  await b.begin()
  await b.run({ text: 'DELETE FROM t', params: [] })
  dialect.database.stop()
  expect([await classOf(a.ping()), await classOf(open(dialect)), dialect.database.sessions.length]).toEqual(['connection-lost', 'connection-lost', 0])
  dialect.database.restart()
  expect(await count(await open(dialect))).toBe(1)
})

test('messages take their time', async () => {
  const { clock, a } = await scene({ latencyMs: 15 })
  const before = clock.worldMs()
  await clock.until(a.ping())
  expect(clock.worldMs() - before).toBe(30)
})

test('locks: one holder; a killed one gives way at once', async () => {
  const clock = manualClock()
  const dialect = memoryDialect({ clock })
  const [first, second] = ['a', 'b'].map((name) => dialect.connect(name, clock.sibling()))
  const locksOf = (process: MemoryDialect) => createLocks({ dialect: process, clock: process.host.clock, random: () => 0.5, namespace: 'test' })
  const [mine, other] = [locksOf(first as MemoryDialect), locksOf(second as MemoryDialect)]
  const lease = await clock.until(mine.acquire('order'))
  expect(await clock.until(other.tryAcquire('order'))).toEqual({ status: 'refused' })
  expect(await clock.until(other.inspect('order'))).toMatchObject({ owner: lease.owner })
  first?.host.kill()
  expect((await clock.until(other.tryAcquire('order'))).status).toBe('acquired')
  await clock.until(other.close())
})

test('locks: a frozen holder loses its lock within the lease, and knows it at its first look', async () => {
  const clock = manualClock()
  const dialect = memoryDialect({ clock })
  const holder = dialect.connect('holder', clock.sibling())
  const waiter = dialect.connect('waiter', clock.sibling())
  const lease = await clock.until(createLocks({ dialect: holder, clock: holder.host.clock, namespace: 'test', leaseMs: 6000 }).acquire('order'))
  const other = createLocks({ dialect: waiter, clock: waiter.host.clock, namespace: 'test', leaseMs: 6000, random: () => 0.5 })
  await clock.advance(20_000)
  expect(lease.signal.aborted).toBe(false)
  holder.host.freeze()
  const frozenAt = clock.worldMs()
  await clock.until(other.acquire('order', { waitMs: 20_000 }))
  expect(clock.worldMs() - frozenAt).toBeLessThanOrEqual(6000 + 1000) // the waiter looks once a second
  expect(lease.signal.aborted).toBe(true)
  await clock.until(other.close())
})

test('locks: a session that is lost takes its locks with it, and the holder is told', async () => {
  const clock = manualClock()
  const dialect = memoryDialect({ clock })
  const locks = createLocks({ dialect, clock, namespace: 'test', fencing: true })
  const lease = await clock.until(locks.acquire('order'))
  expect(lease.fencingToken).toBe(dialect.database.nowMs)
  dialect.database.sessions.find(({ id }) => id === lease.sessionId)?.end('an operator ended it')
  await clock.advance(0)
  expect(lease.signal.aborted).toBe(true)
  expect(await clock.until(lease.release())).toEqual({ status: 'lost' })
  await clock.until(locks.close())
})

test('a clock of another world is refused', () => {
  expect(() => memoryDialect({ clock: manualClock() }).connect('stranger', manualClock())).toThrow(/another world/)
})
