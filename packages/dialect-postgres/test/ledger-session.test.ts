import { describe, expect, it } from 'vitest'
import pg from 'pg'
import { describeServer } from '@sched-dev/databases'
import type { SqlRow, SqlSession } from '@sched/core/spi'
import { postgres } from '../src/index.ts'
import { fragments } from '../src/store/fragments.ts'
import { emptyDatabase, onlooker, openStore } from './support/scene.ts'

const run = async (session: SqlSession, text: string, ...params: (string | number | null)[]): Promise<readonly SqlRow[]> => (await session.run({ text, params })).rows

const settings = `SELECT current_setting('transaction_isolation') AS isolation, current_setting('synchronous_commit') AS commit, current_setting('lock_timeout') AS rows,
 current_setting('statement_timeout') AS statements, current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('application_name') AS label`

const everyDirectServer = ['postgres', 'postgres-middle', 'postgres-oldest', 'pgbouncer-session'] as const

describeServer(everyDirectServer, ({ url: serverUrl }) => {
  it('sets what the protocol needs, whatever the defaults of the database are (P1, P6)', async () => {
    const url = await emptyDatabase(serverUrl)
    const database = new URL(url).pathname.slice(1)
    const looker = await onlooker(url)
    await looker.query(`alter database ${database} set default_transaction_isolation = 'serializable'`)
    await looker.query(`alter database ${database} set synchronous_commit = off`)
    const dialect = postgres({ url })
    for (const purpose of ['pulse', 'store'] as const) {
      const session = await openStore(dialect, purpose, { label: 'sched:test:host:1', leaseMs: 3_000, statementMs: 900, rowLockMs: 70 })
      const expected = [{ isolation: 'read committed', commit: 'on', rows: '70ms', statements: '900ms', idle: '3s', label: 'sched:test:host:1' }]
      expect(await run(session, settings)).toEqual(expected)
      await session.begin()
      expect(await run(session, settings)).toEqual(expected)
      await session.rollback()
      expect(session.id).toBe((await run(session, 'SELECT pg_backend_pid() AS pid'))[0]?.['pid'])
    }
  })

  it('leaves isolation and limits of ctx.transaction to the user, but not how long it may sleep in one (P6, P8)', async () => {
    const url = await emptyDatabase(serverUrl)
    await (await onlooker(url)).query(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_isolation = 'repeatable read'`)
    const session = await openStore(postgres<pg.Client>({ url }), 'transaction', { label: 'x', leaseMs: 2_000 })
    expect(await run(session, settings)).toEqual([{ isolation: 'repeatable read', commit: 'on', rows: '0', statements: '0', idle: '2s', label: 'x' }])
    const causes: Error[] = []
    session.onLost?.((cause) => { causes.push(cause) })
    await session.begin()
    expect((await session.client.query<{ n: string }>('select 1::int8 n')).rows).toEqual([{ n: '1' }]) // the driver as the user knows it
    await expect.poll(() => causes.length, { timeout: 15_000 }).toBe(1)
    expect(causes[0]).toMatchObject({ code: '25P03' })
    await expect(session.commit()).rejects.toThrow()
  })

  it('waits for a locked row no longer than it was told, and for a statement neither (P6)', async () => {
    const url = await emptyDatabase(serverUrl)
    const dialect = postgres({ url })
    const [one, two] = [await openStore(dialect, 'store', { rowLockMs: 100 }), await openStore(dialect, 'store', { rowLockMs: 100, statementMs: 300 })]
    await run(one, 'CREATE TABLE t (x bigint PRIMARY KEY)')
    await run(one, 'INSERT INTO t VALUES (?)', 1)
    await one.begin()
    await run(one, `SELECT x FROM t${fragments.lockRow}`)
    const error: unknown = await run(two, 'UPDATE t SET x = 2').catch((reason: unknown) => reason)
    expect(dialect.store!.classify(error)).toBe('lock-timeout')
    expect(dialect.store!.classify(await run(two, 'SELECT pg_sleep(5)').catch((reason: unknown) => reason))).toBe('query-timeout')
  })
})

describeServer([...everyDirectServer, 'pgbouncer-transaction'], ({ name, url: serverUrl }) => {
  const sharedSessions = name === 'pgbouncer-transaction'

  it('answers plain values: safe numbers, 1 and 0, lower-case keys, nothing else', async () => {
    const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'store', { sharedSessions })
    await session.begin()
    expect(await run(session, `SELECT 9007199254740991::int8 AS "Big", 1.5::numeric AS n, 2::int2 AS s, 0.25::float8 AS f, true AS yes, false AS no, NULL AS nothing,
 '2026-01-01T00:00:00Z'::timestamptz IS NOT NULL AS at, '{"a":1}'::json AS j, 'x '::varchar(5) AS "Text", count(*) AS c`))
      .toEqual([{ big: 9007199254740991, n: 1.5, s: 2, f: 0.25, yes: 1, no: 0, nothing: null, at: 1, j: '{"a":1}', text: 'x ', c: 1 }])
    await expect(run(session, 'SELECT 9007199254740993::int8 AS n')).rejects.toThrow(RangeError)
  })

  it('takes values of any type where the server could not tell', async () => {
    const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'store', { sharedSessions })
    await session.begin()
    expect(await run(session, 'SELECT ? AS a, ? AS b, ? + 1 AS c, CASE WHEN ? > 0 THEN ? ELSE ? END AS d, ?::text AS e', 'x', 2 ** 40, 2 ** 40, 1, 5, 6, null))
      .toEqual([{ a: 'x', b: 2 ** 40, c: 2 ** 40 + 1, d: 5, e: null }])
    expect(await run(session, 'SELECT ? AS evil', "'; DROP TABLE t; -- \\ $1 ?")).toEqual([{ evil: "'; DROP TABLE t; -- \\ $1 ?" }])
    await expect(run(session, 'SELECT ?')).rejects.toThrow(TypeError)
    await expect(run(session, 'SELECT 1', 2)).rejects.toThrow(TypeError)
  })

  it('counts what a statement changed', async () => {
    const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'store', { sharedSessions })
    await session.begin()
    await run(session, 'CREATE TABLE t (x bigint, y text)')
    const affected = async (text: string, ...params: (string | number | null)[]): Promise<number> => (await session.run({ text, params })).affected
    expect(await affected('INSERT INTO t VALUES (?, ?), (?, ?)', 1, 'a', 2, null)).toBe(2)
    expect(await affected('UPDATE t SET y = ? WHERE x >= ?', 'b', 1)).toBe(2)
    expect(await affected('UPDATE t SET y = ? WHERE x = ?', 'b', 9)).toBe(0)
    expect(await affected('SELECT x FROM t')).toBe(0)
    expect(await affected('DELETE FROM t')).toBe(2)
    await session.commit()
  })

  it('tells apart keys that differ by case, trailing space or accent, and sorts by code point', async () => {
    const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'store', { sharedSessions })
    await session.begin()
    await run(session, fragments.createTable('t', `k ${fragments.types.name(5)} NOT NULL, a ${fragments.types.ascii(5)}, n ${fragments.types.integer}, PRIMARY KEY (k)`))
    for (const key of ['a', 'A', 'a ', 'ä', 'a\u0308', 'B', '锁锁锁锁锁']) await run(session, 'INSERT INTO t (k) VALUES (?)', key)
    expect((await run(session, 'SELECT k FROM t ORDER BY k')).map((row) => row['k'])).toEqual(['A', 'B', 'a', 'a ', 'a\u0308', 'ä', '锁锁锁锁锁'])
    expect(await run(session, 'SELECT k FROM t WHERE k = ?', 'a')).toEqual([{ k: 'a' }])
  })

  it('reads the server\'s clock in epoch milliseconds in any time zone, and it moves inside a transaction (P9)', async () => {
    const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'store', { sharedSessions })
    await session.begin()
    const read = async (): Promise<number> => (await run(session, `SELECT ${fragments.nowMs} AS n${fragments.dual}`))[0]?.['n'] as number
    const first = await read()
    await run(session, "SET LOCAL TimeZone = 'Asia/Kathmandu'")
    await run(session, 'SELECT pg_sleep(0.02)')
    const second = await read()
    expect(Math.abs(first - Date.now())).toBeLessThan(5_000)
    expect(second - first).toBeGreaterThanOrEqual(20)
    expect(second - first).toBeLessThan(15_000)
  })

  it('does not report a COMMIT that the server turned into a rollback (P8, P10)', async () => {
    const dialect = postgres({ url: await emptyDatabase(serverUrl) })
    const session = await openStore(dialect, 'store', { sharedSessions })
    await session.begin()
    await run(session, 'CREATE TABLE t (x bigint)')
    await expect(run(session, 'SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' })
    const error: unknown = await session.commit().catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'SCHED_CONTENDED', message: expect.stringContaining('ROLLBACK') as string })
    expect(dialect.store!.classify(error)).toBe('serialization')
    await session.begin()
    await expect(run(session, 'SELECT x FROM t')).rejects.toMatchObject({ code: '42P01' })
  })
})

describe('behind a transaction pooler', () => {
  describeServer('pgbouncer-transaction', ({ url: serverUrl }) => {
    it('every transaction brings its settings and leaves none on the session of others', async () => {
      const url = await emptyDatabase(serverUrl)
      const session = await openStore(postgres({ url }), 'store', { sharedSessions: true, label: "sched:o'neill\\:é", leaseMs: 3_000, statementMs: 900, rowLockMs: 70 })
      expect(session.id).toBeUndefined()
      const other = await onlooker(url)
      await session.begin()
      expect(await run(session, settings)).toEqual([{ isolation: 'read committed', commit: 'on', rows: '70ms', statements: '900ms', idle: '3s', label: "sched:o'neill?:?" }])
      await session.commit()
      const { rows } = await other.query(settings) as { rows: Record<string, string>[] }
      expect(rows).toMatchObject([{ rows: '0', statements: '0', idle: '0' }])
    })

    it('a transaction of the user\'s has the idle limit as well (P6)', async () => {
      const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'transaction', { sharedSessions: true, leaseMs: 3_000 })
      await session.begin()
      expect(await run(session, settings)).toMatchObject([{ rows: '0', statements: '0', idle: '3s' }])
      await session.rollback()
    })
  })
})
