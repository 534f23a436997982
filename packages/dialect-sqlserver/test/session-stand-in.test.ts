import { describe, expect, it } from 'vitest'
import { sqlserver } from '../src/index.ts'
import { classifySqlServer } from '../src/errors/classify.ts'
import { fragments } from '../src/store/fragments.ts'
import { eventually, openStore, startStandIn } from './support/scene.ts'
import type { SqlResult, SqlSession, SqlValue } from '@sched/core/spi'

const run = (session: SqlSession, text: string, ...params: SqlValue[]): Promise<SqlResult> => session.run({ text, params })
const { types } = fragments

async function tableOn(url: string): Promise<SqlSession> {
  const session = await openStore(sqlserver({ url }))
  await run(session, fragments.createTable('[t]', `k ${types.name(64)} NOT NULL, a ${types.ascii(8)}, n ${types.integer}, x ${types.longText}, PRIMARY KEY (k)`))
  return session
}

describe('a session on the TDS stand-in', () => {
  it('answers rows with lower-case keys, bigint as numbers, NULL as null', async () => {
    const session = await tableOn((await startStandIn()).url)
    expect(await run(session, 'SELECT ? AS Big, ? AS Half, ? AS Void, ? AS Words', 9_007_199_254_740_991, 0.5, null, 'x'))
      .toEqual({ rows: [{ big: 9_007_199_254_740_991, half: 0.5, void: null, words: 'x' }], affected: 0 })
    expect((await run(session, `SELECT n FROM [t] WHERE n > ? ORDER BY n${fragments.limit(2)}`, 0)).rows).toEqual([])
    expect((await run(session, `SELECT ${fragments.nowMs} AS db_now`)).rows[0]?.['db_now']).toSatisfy((now) => Math.abs(Number(now) - Date.now()) < 10_000)
  })

  it('counts the rows that were changed, whatever NOCOUNT says', async () => {
    const session = await tableOn((await startStandIn()).url)
    expect((await run(session, 'INSERT INTO [t] (k, n) SELECT ?, ? WHERE 1 = 1', 'a', 1)).affected).toBe(1)
    await run(session, 'INSERT INTO [t] (k, n) VALUES (?, ?)', 'b', 1)
    expect((await run(session, 'UPDATE [t] SET n = 2 WHERE n = 1')).affected).toBe(2)
    expect((await run(session, 'UPDATE [t] SET n = 2 WHERE n = 7')).affected).toBe(0)
    const lent = await openStore(sqlserver({ url: (await startStandIn()).url }), 'transaction')
    await new Promise((resolve) => { lent.client.execSqlBatch(new (requireRequest())('SET NOCOUNT ON', () => { resolve(undefined) }) as never) })
    await run(lent, fragments.createTable('[u]', `n ${types.integer}`))
    expect((await run(lent, 'INSERT INTO [u] (n) VALUES (1)')).affected).toBe(1)
  })

  it('keeps a, A and "a " apart in keys, and texts of any kind as they are', async () => {
    const session = await tableOn((await startStandIn()).url)
    const keys = ['a', 'A', 'a ', 'a  ', ' a', 'ä', 'ａ', '😀', '漢 ', 'it\'s', 'a\u001f']
    for (const [index, key] of keys.entries()) await run(session, 'INSERT INTO [t] (k, n) VALUES (?, ?)', key, index)
    for (const [index, key] of keys.entries()) expect((await run(session, 'SELECT k, n FROM [t] WHERE k = ?', key)).rows).toEqual([{ k: key, n: index }])
    const long = 'ü'.repeat(20_000)
    await run(session, 'UPDATE [t] SET x = ? WHERE k = ?', long, 'a')
    expect((await run(session, 'SELECT x FROM [t] WHERE k = ?', 'a')).rows).toEqual([{ x: long }])
    expect(classifySqlServer(await run(session, 'UPDATE [t] SET a = ?', 'much too long').catch((error: unknown) => error))).toBe('name-invalid')
  })

  it('commits, rolls back, and ends what XACT_ABORT has ended already', async () => {
    const { url } = await startStandIn()
    const [session, other] = [await tableOn(url), await openStore(sqlserver({ url }))]
    const count = async (): Promise<SqlValue | undefined> => (await run(other, 'SELECT COUNT(*) AS n FROM [t]')).rows[0]?.['n']
    await session.begin()
    await run(session, 'INSERT INTO [t] (k) VALUES (?)', 'a')
    expect(await count()).toBe(0)
    await session.rollback()
    await session.begin()
    await run(session, 'INSERT INTO [t] (k) VALUES (?)', 'a')
    await session.commit()
    expect(await count()).toBe(1)
    await session.begin()
    await run(session, 'INSERT INTO [t] (k) VALUES (?)', 'b')
    expect(classifySqlServer(await run(session, 'INSERT INTO [t] (k) VALUES (?)', 'a').catch((error: unknown) => error))).toBe('duplicate-key')
    await session.rollback()
    expect(await count()).toBe(1)
    await session.begin()
    await run(session, 'INSERT INTO [t] (k) VALUES (?)', 'a').catch(() => {})
    expect(classifySqlServer(await session.commit().catch((error: unknown) => error))).toBe('serialization') // 3902: it certainly did not commit
    await session.ping()
  })

  it('waits for a row as long as rowLockMs says, then 1222', async () => {
    const { url } = await startStandIn()
    const [one, two] = [await tableOn(url), await openStore(sqlserver({ url }), 'store', { rowLockMs: 80 })]
    await run(one, 'INSERT INTO [t] (k, n) VALUES (?, ?)', 'a', 1)
    await one.begin()
    await run(one, 'UPDATE [t] SET n = 2 WHERE k = ?', 'a')
    const startedAt = performance.now()
    expect(classifySqlServer(await run(two, 'UPDATE [t] SET n = 3 WHERE k = ?', 'a').catch((error: unknown) => error))).toBe('lock-timeout')
    expect(performance.now() - startedAt).toBeGreaterThan(70)
    expect(classifySqlServer(await run(two, `SELECT n FROM [t]${fragments.lockHint ?? ''} WHERE k = ?`, 'a').catch((error: unknown) => error))).toBe('lock-timeout')
    expect((await run(two, `SELECT n FROM [t]${fragments.readHint} WHERE k = ?`, 'a')).rows).toHaveLength(1)
    await one.commit()
    expect((await run(two, 'UPDATE [t] SET n = 3 WHERE k = ?', 'a')).affected).toBe(1)
  })

  it('ends a statement at its limit by an attention: class query-timeout', async () => {
    const { url } = await startStandIn()
    const [one, two] = [await tableOn(url), await openStore(sqlserver({ url }), 'store', { rowLockMs: 60_000, statementMs: 1_000 })]
    await one.begin()
    await run(one, 'INSERT INTO [t] (k) VALUES (?)', 'a')
    const error: unknown = await run(two, 'INSERT INTO [t] (k) VALUES (?)', 'a').catch((reason: unknown) => reason)
    expect(classifySqlServer(error)).toBe('query-timeout')
    await two.ping() // the attention was answered
  })

  it('says once that it was lost, also when nothing was asked', async () => {
    const standIn = await startStandIn()
    const session = await openStore(sqlserver({ url: standIn.url }))
    const causes: Error[] = []
    session.onLost?.((cause) => { causes.push(cause) })
    standIn.sessions().find(({ id }) => id === session.id)?.end()
    await eventually(() => causes.length === 1)
    expect(classifySqlServer(await session.ping().catch((error: unknown) => error))).toBe('connection-lost')
    session.destroy()
    expect(causes).toHaveLength(1)
  })

  it('refuses what the stand-in does not know, so that nothing succeeds by misunderstanding', async () => {
    const session = await tableOn((await startStandIn()).url)
    for (const text of ['MERGE INTO [t] USING [t] s ON 1 = 1 WHEN MATCHED THEN DELETE', 'SELECT k FROM [t] LIMIT 1', 'UPDATE [t] SET n = 1 OUTPUT inserted.k', 'SELECT NOW()', 'EXEC something', 'INSERT INTO [t] (k) VALUES (?) ON CONFLICT DO NOTHING']) {
      expect(classifySqlServer(await run(session, text, ...(text.includes('?') ? ['x'] : [])).catch((error: unknown) => error)), text).toBe('unsupported')
    }
  })
})

function requireRequest(): new (text: string, done: () => void) => object {
  return (process.getBuiltinModule('node:module').createRequire(import.meta.url)('tedious') as { Request: new (text: string, done: () => void) => object }).Request
}
