import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { SqlSession } from '@sched/core/spi'
import type { DatabaseSync } from 'node:sqlite'
import { sqlite } from '../src/sqlite/index.ts'
import { temporaryDirectory } from './support/sqlite-place.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())
const file = join(directory.path, 'sessions.db')
const { store } = sqlite({ file })
const open: SqlSession<DatabaseSync>[] = []
afterEach(() => { for (const session of open.splice(0)) session.destroy() })

async function connect(signal: AbortSignal = new AbortController().signal): Promise<SqlSession<DatabaseSync>> {
  const session = await store!.open('store', { signal, leaseMs: 2_000, label: 'test', statementMs: 500, rowLockMs: 100, sharedSessions: false })
  open.push(session)
  return session
}

async function withTable(): Promise<SqlSession<DatabaseSync>> {
  const session = await connect()
  await session.run({ text: 'DROP TABLE IF EXISTS t', params: [] })
  await session.run({ text: store!.sql.createTable('"t"', 'a TEXT NOT NULL, n INTEGER, PRIMARY KEY (a)'), params: [] })
  return session
}

const fault = (work: Promise<unknown>): Promise<string> => work.then(() => 'no error', (error: unknown) => store!.classify(error))

describe('a session on SQLite', () => {
  it('P1: commits durably and lets readers pass', async () => {
    const { client } = await connect()
    expect(client.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'wal' })
    expect(client.prepare('PRAGMA synchronous').get()).toMatchObject({ synchronous: 2 }) // FULL
    expect(client.prepare('PRAGMA busy_timeout').get()).toMatchObject({ timeout: 5 })
  })

  it('answers rows with lower-case keys, and counts what was changed', async () => {
    const session = await withTable()
    const run = (text: string, ...params: (string | number | null)[]) => session.run({ text, params })
    expect(await run('INSERT INTO t (a, n) VALUES (?, ?)', 'x', 2 ** 53 - 1)).toEqual({ rows: [], affected: 1 })
    expect(await run('SELECT a AS "Name", n FROM t')).toEqual({ rows: [{ name: 'x', n: 2 ** 53 - 1 }], affected: 0 })
    expect(await run('UPDATE t SET n = ? WHERE a = ?', 1, 'y')).toEqual({ rows: [], affected: 0 })
    expect(await run('UPDATE t SET n = n WHERE a = ?', 'x')).toEqual({ rows: [], affected: 1 })
    expect(await run('UPDATE t SET n = ? RETURNING a', 1)).toEqual({ rows: [{ a: 'x' }], affected: 1 })
    expect(await run('UPDATE t SET n = ? WHERE a = ? RETURNING a', 1, 'y')).toEqual({ rows: [], affected: 0 })
    expect(await run('CREATE INDEX i ON t (n)')).toEqual({ rows: [], affected: 0 })
    expect(await run('DELETE FROM t')).toEqual({ rows: [], affected: 1 })
  })

  it('binds integers as integers, null as NULL, text as it is', async () => {
    const session = await withTable()
    await session.run({ text: 'INSERT INTO t (a, n) VALUES (?, ?)', params: [5, null] })
    expect((await session.run({ text: 'SELECT a, n, typeof(?) AS kind FROM t', params: [7] })).rows).toEqual([{ a: '5', n: null, kind: 'integer' }])
    expect((await session.run({ text: 'SELECT ? AS t', params: [`x' OR "1" -- 😀`] })).rows).toEqual([{ t: `x' OR "1" -- 😀` }])
  })

  it('refuses a statement with a mark too many or too few: SQLite would bind NULL or the value before', async () => {
    const session = await withTable()
    await session.run({ text: 'INSERT INTO t (a, n) VALUES (?, ?)', params: ['x', 1] })
    await expect(session.run({ text: 'INSERT INTO t (a, n) VALUES (?, ?)', params: ['y'] })).rejects.toThrow('2 marks was given 1 values')
    await expect(session.run({ text: 'SELECT 1', params: [1] })).rejects.toThrow('0 marks was given 1 values')
  })

  it('refuses integers that JavaScript cannot hold, and bytes', async () => {
    const session = await connect()
    await expect(session.run({ text: 'SELECT 9007199254740993 AS n', params: [] })).rejects.toThrow('too large')
    await expect(session.run({ text: `SELECT x'00' AS n`, params: [] })).rejects.toThrow('neither text nor number')
  })

  it('keys are compared by code point: case, trailing spaces and composition count', async () => {
    const session = await withTable()
    for (const key of ['a', 'A', 'a ', 'ä', 'a\u0308', '😀']) await session.run({ text: 'INSERT INTO t (a) VALUES (?)', params: [key] })
    expect((await session.run({ text: 'SELECT a FROM t WHERE a = ?', params: ['a'] })).rows).toEqual([{ a: 'a' }])
  })

  it('a statement survives the schema changing under it, and more statements than are kept', async () => {
    const [session, other] = [await withTable(), await connect()]
    const all = { text: 'SELECT * FROM t', params: [] }
    expect((await session.run(all)).rows).toEqual([])
    await other.run({ text: 'ALTER TABLE t ADD COLUMN later TEXT', params: [] })
    await other.run({ text: 'INSERT INTO t (a, later) VALUES (?, ?)', params: ['x', 'y'] })
    expect((await session.run(all)).rows).toEqual([{ a: 'x', n: null, later: 'y' }])
    for (let count = 0; count < 250; count += 1) await session.run({ text: `SELECT ${count} AS n`, params: [] })
    expect((await session.run(all)).rows).toHaveLength(1)
  })

  it('P10: a BEGIN that loses is contended, at once, and succeeds when the other has ended', async () => {
    const [one, two] = [await withTable(), await connect()]
    await one.begin()
    const tookMs: number[] = []
    for (let time = 0; time < 5; time += 1) {
      const startedAt = performance.now()
      expect(await fault(two.begin())).toBe('contended')
      expect(await fault(two.run({ text: 'INSERT INTO t (a) VALUES (?)', params: ['x'] }))).toBe('contended')
      tookMs.push(performance.now() - startedAt)
    }
    expect(Math.min(...tookMs)).toBeLessThan(250)
    expect(await fault(two.run({ text: 'SELECT * FROM t', params: [] }))).toBe('no error') // readers pass
    await one.rollback()
    await two.begin()
    await two.commit()
  })

  it('rolls back whatever is open, twice as well, and says no more than that', async () => {
    const session = await withTable()
    await session.begin()
    await session.run({ text: 'INSERT INTO t (a) VALUES (?)', params: ['x'] })
    await session.rollback()
    await session.rollback()
    expect((await session.run({ text: 'SELECT * FROM t', params: [] })).rows).toEqual([])
  })

  it('P3: destroy ends the handle at once, rolls back, and may be called again', async () => {
    const [session, other] = [await withTable(), await connect()]
    await session.begin()
    await session.run({ text: 'INSERT INTO t (a) VALUES (?)', params: ['x'] })
    session.destroy()
    session.destroy()
    await other.begin()
    expect((await other.run({ text: 'SELECT * FROM t', params: [] })).rows).toEqual([])
    await other.rollback()
    for (const call of [session.ping(), session.begin(), session.run({ text: 'SELECT 1', params: [] })]) expect(await fault(call)).toBe('connection-lost')
  })

  it('P8: a COMMIT that fails is over', async () => {
    const session = await withTable()
    await session.begin()
    session.client.exec('PRAGMA defer_foreign_keys = ON; CREATE TABLE child (a TEXT REFERENCES t (a)); INSERT INTO child VALUES (\'nobody\')')
    expect(await fault(session.commit())).toBe('unknown')
    await session.begin()
    await session.rollback()
    expect((await session.run({ text: `SELECT name FROM sqlite_schema WHERE name = 'child'`, params: [] })).rows).toEqual([])
  })

  it('P2: a file that was replaced or deleted under its handle ends the session before it writes', async () => {
    const [replaced, fresh] = [await withTable(), await connect()]
    fresh.destroy()
    renameSync(file, `${file}.old`)
    const insert = { text: 'INSERT INTO t (a) VALUES (?)', params: ['lost'] }
    for (const call of [replaced.ping(), replaced.begin(), replaced.run(insert)]) expect(await fault(call)).toBe('connection-lost')
    const after = await connect() // makes a new file
    for (const call of [replaced.ping(), replaced.begin(), replaced.run(insert)]) expect(await fault(call)).toBe('connection-lost')
    expect(await fault(after.run(insert))).toBe('missing-table')
    replaced.destroy()
    rmSync(`${file}.old`)
  })

  it('opens nothing when it is given up beforehand', async () => {
    await expect(connect(AbortSignal.abort(new Error('given up')))).rejects.toThrow('given up')
  })

  it('P9: the clock is exact to the millisecond, fixed within a statement and moving within a transaction', async () => {
    const session = await connect()
    const now = async (): Promise<number> => (await session.run({ text: `SELECT ${store!.sql.nowMs} AS now_ms`, params: [] })).rows[0]!['now_ms'] as number
    await session.begin()
    const before = Date.now()
    const first = await now()
    expect(first).toBeGreaterThanOrEqual(before)
    expect(first).toBeLessThanOrEqual(Date.now())
    while (Date.now() <= first) { /* until the next millisecond */ }
    expect(await now()).toBeGreaterThan(first)
    await session.rollback()
    const many = `WITH RECURSIVE series (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < 100000) SELECT COUNT(DISTINCT ${store!.sql.nowMs}) AS readings FROM series`
    expect((await session.run({ text: many, params: [] })).rows).toEqual([{ readings: 1 }])
  })
})
