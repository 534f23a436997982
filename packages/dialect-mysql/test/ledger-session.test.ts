import { expect, it } from 'vitest'
import type { Connection } from 'mysql2/promise'
import { describeServer } from '@sched-dev/databases'
import type { SqlRow, SqlSession } from '@sched/core/spi'
import { mysql } from '../src/index.ts'
import { fragments } from '../src/store/fragments.ts'
import { emptyDatabase, errorOf, eventually, everyServer, onlooker, openStore } from './support/scene.ts'

const run = async (session: SqlSession, text: string, ...params: (string | number | null)[]): Promise<readonly SqlRow[]> => (await session.run({ text, params })).rows

async function settings(session: SqlSession, ...names: string[]): Promise<Record<string, SqlRow[string] | undefined>> {
  const rows = await run(session, `SHOW SESSION VARIABLES WHERE Variable_name IN (${names.map(() => '?').join(', ')})`, ...names)
  return Object.fromEntries(rows.map((row) => [String(row['variable_name']), row['value']]))
}

describeServer(everyServer, ({ name: server, url: serverUrl }) => {
  const mariadb = server !== 'mysql'
  const isolation = server === 'mysql' || server === 'mariadb' ? 'transaction_isolation' : 'tx_isolation'
  const limit = mariadb ? 'max_statement_time' : 'max_execution_time'

  it('P1, P6: sets what the protocol needs, on a session of its own', async () => {
    const dialect = mysql({ url: await emptyDatabase(serverUrl) })
    for (const purpose of ['pulse', 'store'] as const) {
      const session = await openStore(dialect, purpose, { label: 'sched:test:host:1', leaseMs: 2_500, statementMs: 900, rowLockMs: 70 })
      expect(await settings(session, isolation, 'autocommit', 'innodb_lock_wait_timeout', 'lock_wait_timeout', limit, 'sql_mode', 'time_zone', 'character_set_client')).toEqual({
        [isolation]: 'READ-COMMITTED', autocommit: 'ON', innodb_lock_wait_timeout: '1', lock_wait_timeout: '1', [limit]: mariadb ? '0.900000' : '900',
        sql_mode: 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', time_zone: '+00:00', character_set_client: 'utf8mb4',
      })
      expect(session.id).toBe((await run(session, 'SELECT CONNECTION_ID() AS id'))[0]?.['id'])
      if (server === 'galera-1') expect(await settings(session, 'wsrep_sync_wait')).toEqual({ wsrep_sync_wait: '7' })
    }
  })

  it('P6: a process that froze inside a transaction keeps its rows for a lease, and a store session may be idle for longer', async () => {
    const url = await emptyDatabase(serverUrl)
    const session = await openStore(mysql({ url }), 'store', { leaseMs: 2_000 })
    const other = await openStore(mysql({ url }), 'store')
    await run(session, `CREATE TABLE t (x bigint PRIMARY KEY) ENGINE=InnoDB`)
    await run(session, 'INSERT INTO t VALUES (?)', 1)
    await new Promise((resolve) => { setTimeout(resolve, 3_200) }) // idle for more than a lease
    await session.begin()
    await session.rollback()
    await new Promise((resolve) => { setTimeout(resolve, 3_200) })
    const causes: Error[] = []
    session.onLost?.((cause) => { causes.push(cause) })
    await session.begin()
    const began = performance.now()
    await run(session, 'UPDATE t SET x = 2')
    // Without the limit it would be hours.
    await eventually(async () => await run(other, 'UPDATE t SET x = 3').then(() => true, () => false), 15_000)
    expect(performance.now() - began).toBeGreaterThan(1_900)
    await eventually(async () => causes.length === 1)
  }, 60_000)

  it('P6, P8: leaves isolation and limits of ctx.transaction to the user, but not how long it may sleep in one', async () => {
    const url = await emptyDatabase(serverUrl)
    const session = await openStore(mysql<Connection>({ url }), 'transaction', { label: 'x', leaseMs: 2_000 })
    expect(await settings(session, isolation, 'innodb_lock_wait_timeout', 'wait_timeout', limit)).toEqual({
      [isolation]: 'REPEATABLE-READ', innodb_lock_wait_timeout: '50', wait_timeout: '2', [limit]: mariadb ? '0.000000' : '0',
    })
    const causes: Error[] = []
    session.onLost?.((cause) => { causes.push(cause) })
    await session.begin()
    expect((await session.client.query('select 1 as n'))[0]).toEqual([{ n: 1 }]) // the driver as the user knows it
    await eventually(async () => causes.length === 1)
    await expect(session.commit()).rejects.toThrow()
  })

  it('P6: waits for a locked row no longer than the smallest limit there is, a second, and for a statement neither', async () => {
    const dialect = mysql({ url: await emptyDatabase(serverUrl) })
    const [one, two] = [await openStore(dialect, 'store', { rowLockMs: 100 }), await openStore(dialect, 'store', { rowLockMs: 100, statementMs: 5_000 })]
    await run(one, 'CREATE TABLE t (x bigint PRIMARY KEY) ENGINE=InnoDB')
    await run(one, 'INSERT INTO t VALUES (?)', 1)
    await one.begin()
    await run(one, `SELECT x FROM t${fragments.lockRow}`)
    const began = performance.now()
    expect(dialect.store!.classify(await errorOf(run(two, 'UPDATE t SET x = 2')))).toBe('lock-timeout')
    expect(performance.now() - began).toBeGreaterThan(900)
    // Up to two seconds on MariaDB 10.5, which looks once a second; without a limit it would be the statement's.
    expect(performance.now() - began).toBeLessThan(5_000)
    const slow = 'SELECT COUNT(*) FROM information_schema.columns a JOIN information_schema.columns b JOIN information_schema.columns c'
    expect(dialect.store!.classify(await errorOf(run(two, slow)))).toBe('query-timeout')
  }, 40_000)

  it('P10: answers plain values: safe numbers, text, lower-case keys, nothing else', async () => {
    const session = await openStore(mysql({ url: await emptyDatabase(serverUrl) }), 'store')
    expect(await run(session, `SELECT 9007199254740991 AS Big, 1.5 AS n, CAST(2 AS SIGNED) AS s, 0.25e0 AS f, 1 = 1 AS yes, 1 = 2 AS no, NULL AS nothing,
 'x ' AS \`Text\`, CAST('ä锁🔒' AS BINARY) AS b, '' AS e, COUNT(*) AS c, DATE('2026-01-01') AS d, UTC_TIMESTAMP() IS NOT NULL AS at FROM DUAL`))
      .toEqual([{ big: 9007199254740991, n: 1.5, s: 2, f: 0.25, yes: 1, no: 0, nothing: null, text: 'x ', b: 'ä锁🔒', e: '', c: 1, d: '2026-01-01', at: 1 }])
    await expect(run(session, 'SELECT 9007199254740993 AS n')).rejects.toThrow(RangeError)
    expect(await run(session, 'SELECT 1 AS still')).toEqual([{ still: 1 }])
  })

  it('P10: a value is data, whatever it looks like and whatever the session thinks of backslashes, quotes and character sets', async () => {
    const url = await emptyDatabase(serverUrl)
    const session = await openStore(mysql<Connection>({ url }), 'transaction')
    const evil = ["'; DROP TABLE t; -- ", '\\', "\\'", '"', '?', '%_', '`', "\n\r\t\u001a", 'ä锁🔒', '/* */ # --', ':name', '\u00a5', '']
    for (const mode of ['', 'NO_BACKSLASH_ESCAPES', 'ANSI_QUOTES,PIPES_AS_CONCAT', 'ANSI,NO_BACKSLASH_ESCAPES']) {
      await session.client.query(`SET SESSION sql_mode = '${mode}'`)
      for (const characters of ['utf8mb4', 'latin1', 'gbk']) {
        await session.client.query(`SET character_set_client = '${characters}'`)
        for (const value of evil) expect([mode, characters, value, await run(session, 'SELECT HEX(CONVERT(? USING utf8mb4)) AS h, ? AS n', value, 5)])
          .toEqual([mode, characters, value, [{ h: Buffer.from(value).toString('hex').toUpperCase(), n: 5 }]])
      }
    }
    await expect(run(session, 'SELECT ?')).rejects.toThrow(TypeError)
    await expect(run(session, 'SELECT 1', 2)).rejects.toThrow(TypeError)
    expect(await run(session, 'SELECT ? + 1 AS c, CASE WHEN ? > 0 THEN ? ELSE ? END AS d, ? AS e, ? AS f', 2 ** 53 - 2, 1, 5, 6, null, -0.5)).toEqual([{ c: 2 ** 53 - 1, d: 5, e: null, f: -0.5 }])
  })

  it('P7: counts the rows that a WHERE clause matched', async () => {
    const session = await openStore(mysql({ url: await emptyDatabase(serverUrl) }), 'store')
    await run(session, 'CREATE TABLE t (x bigint PRIMARY KEY, y text) ENGINE=InnoDB')
    const affected = async (text: string, ...params: (string | number | null)[]): Promise<number> => (await session.run({ text, params })).affected
    expect(await affected('INSERT INTO t VALUES (?, ?), (?, ?)', 1, 'a', 2, null)).toBe(2)
    expect(await affected('UPDATE t SET y = ? WHERE x >= ?', 'b', 1)).toBe(2)
    expect(await affected('UPDATE t SET y = ? WHERE x >= ?', 'b', 1)).toBe(2) // matched, although nothing changes
    expect(await affected('UPDATE t SET y = ? WHERE x = ?', 'b', 9)).toBe(0)
    expect(await affected('SELECT x FROM t')).toBe(0)
    expect(await affected('DELETE FROM t')).toBe(2)
  })

  it('P1: tells apart keys that differ by case, trailing space or accent, and sorts by code point', async () => {
    const session = await openStore(mysql({ url: await emptyDatabase(serverUrl) }), 'store')
    const { types } = fragments
    for (const type of [types.name(5), types.ascii(5)]) {
      await run(session, 'DROP TABLE IF EXISTS t')
      await run(session, fragments.createTable('t', `k ${type} NOT NULL, n ${types.integer}, t ${types.text}, l ${types.longText}, PRIMARY KEY (k)`))
      await run(session, fragments.createTable('t', `k ${type} NOT NULL, PRIMARY KEY (k)`))
      await run(session, fragments.createIndex('t_ix', 't', 'n'))
      expect(mysql({ url: serverUrl }).store!.classify(await errorOf(run(session, fragments.createIndex('t_ix', 't', 'n'))))).toBe('already-exists')
      const keys = ['A', 'B', 'a', 'a ', 'b', ...(type === types.name(5) ? ['a\u0308', 'ä', '锁锁锁锁锁', '🔒'] : [])]
      for (const key of keys.toReversed()) await run(session, 'INSERT INTO t (k, t) VALUES (?, ?)', key, `${key} `)
      expect((await run(session, 'SELECT k FROM t ORDER BY k')).map((row) => row['k'])).toEqual(keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
      expect(await run(session, 'SELECT k, t FROM t WHERE k = ?', 'a')).toEqual([{ k: 'a', t: 'a ' }])
      expect(mysql({ url: serverUrl }).store!.classify(await errorOf(run(session, 'INSERT INTO t (k) VALUES (?)', 'a')))).toBe('duplicate-key')
      expect(mysql({ url: serverUrl }).store!.classify(await errorOf(run(session, 'INSERT INTO t (k) VALUES (?)', 'x'.repeat(21))))).toBe('name-invalid')
    }
  })

  it('P8, P10: does not commit our part of a transaction that is over already', async () => {
    const url = await emptyDatabase(serverUrl)
    const looker = await onlooker(url)
    await looker.query('CREATE TABLE t (x bigint PRIMARY KEY) ENGINE=InnoDB')
    await looker.query('INSERT INTO t VALUES (1), (2)')
    const dialect = mysql<Connection>({ url })
    const session = await openStore(dialect, 'transaction')
    const guard = (): Promise<unknown> => session.run({ text: 'UPDATE t SET x = 100 WHERE x = ?', params: [1] })

    // The user's code swallows the deadlock that rolled its transaction back.
    const other = await onlooker(url)
    await session.begin()
    await session.client.query('UPDATE t SET x = 20 WHERE x = 2')
    await other.query('BEGIN')
    await other.query('UPDATE t SET x = 11 WHERE x = 1')
    const blocked = other.query('UPDATE t SET x = 21 WHERE x = 2')
    await new Promise((resolve) => { setTimeout(resolve, 200) })
    const results = await Promise.allSettled([session.client.query('UPDATE t SET x = 10 WHERE x = 1'), blocked])
    const victim = results[0].status === 'rejected'
    await other.query('ROLLBACK')
    if (victim) {
      const error = await errorOf(guard())
      expect(error).toMatchObject({ code: 'SCHED_CONTENDED' })
      expect(dialect.store!.classify(error)).toBe('serialization')
    }
    await session.rollback()

    for (const statement of ['COMMIT', 'CREATE TABLE other_table (y bigint)']) {
      await session.begin()
      await session.client.query(statement)
      expect(dialect.store!.classify(await errorOf(guard()))).toBe('serialization')
      await expect(session.commit()).rejects.toMatchObject({ code: 'SCHED_CONTENDED' })
      await session.rollback()
    }
    expect((await looker.query('SELECT x FROM t ORDER BY x')).map((row) => Number(row['x']))).toEqual([1, 2])
    await session.begin()
    await guard()
    await session.commit()
    expect((await looker.query('SELECT x FROM t ORDER BY x')).map((row) => Number(row['x']))).toEqual([2, 100])
  })
})
