import { describe, expect, it, onTestFinished } from 'vitest'
import pg from 'pg'
import { describePrivatePostgres, describeServer } from '@sched-dev/databases'
import { SchedError, type ErrorClass, type SqlSession } from '@sched/core/spi'
import { postgres } from '../src/index.ts'
import { classifyPostgres } from '../src/errors/classify.ts'
import { emptyDatabase, onlooker, openLocks, openStore } from './support/scene.ts'

const classOf = (work: Promise<unknown>): Promise<[ErrorClass, unknown]> =>
  work.then(() => { throw new Error('it did not fail') }, (error: unknown) => [classifyPostgres(error), (error as { code?: unknown }).code])

const failing = (session: SqlSession, text: string, ...params: string[]): Promise<[ErrorClass, unknown]> => classOf(session.run({ text, params }))

describeServer(['postgres', 'postgres-middle', 'postgres-oldest', 'pgbouncer-session'], ({ url: serverUrl }) => {
  it('gives what the server raises its class (P10)', async () => {
    const session = await openStore(postgres({ url: await emptyDatabase(serverUrl) }), 'store')
    const run = (text: string): Promise<unknown> => session.run({ text, params: [] })
    await run('CREATE TABLE t (x int PRIMARY KEY, k varchar(3))')
    await run('INSERT INTO t VALUES (1)')
    expect(await failing(session, 'INSERT INTO t VALUES (1)')).toEqual(['duplicate-key', '23505'])
    expect(await failing(session, 'SELECT * FROM nothing')).toEqual(['missing-table', '42P01'])
    expect(await failing(session, 'CREATE TABLE nowhere.t (x int)')).toEqual(['missing-table', '3F000'])
    expect(await failing(session, 'CREATE TABLE t (x int)')).toEqual(['already-exists', '42P07'])
    expect(await failing(session, 'SELECT no_such_function()')).toEqual(['unsupported', '42883'])
    expect(await failing(session, 'SELEKT 1')).toEqual(['unsupported', '42601'])
    expect(await failing(session, 'SET no_such_setting = 1')).toEqual(['unsupported', '42704'])
    expect(await failing(session, 'UPDATE t SET k = ?', 'long')).toEqual(['name-invalid', '22001'])
    expect(await failing(session, 'SELECT ?', 'a\0b')).toEqual(['name-invalid', '22021'])
    expect(await failing(session, 'SELECT pg_sleep(5)')).toEqual(['query-timeout', '57014'])
    expect(await failing(session, 'SELECT 1 / 0')).toEqual(['unknown', '22012'])
    await session.begin()
    await run('SET TRANSACTION READ ONLY')
    expect(await failing(session, 'DELETE FROM t')).toEqual(['read-only', '25006'])
    expect(await failing(session, 'SELECT 1')).toEqual(['unknown', '25P02'])
    await session.rollback()
  })

  it('tells deadlock, serialization and lock time-out apart (P10)', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, two] = [await openStore(postgres({ url }), 'transaction'), await openStore(postgres({ url }), 'transaction')]
    const both = [one, two]
    await one.run({ text: 'CREATE TABLE t (x int PRIMARY KEY, n int)', params: [] })
    await one.run({ text: 'INSERT INTO t VALUES (1, 0), (2, 0)', params: [] })
    const update = (session: SqlSession, x: number): Promise<unknown> => session.run({ text: 'UPDATE t SET n = n + 1 WHERE x = ?', params: [x] })
    for (const each of both) await each.begin()
    await update(one, 1)
    await update(two, 2)
    const outcomes = await Promise.allSettled([update(one, 2), update(two, 1)].map((work, index) => work.finally(() => both[index]!.rollback())))
    expect(outcomes.filter(({ status }) => status === 'rejected').map((outcome) => classifyPostgres((outcome as PromiseRejectedResult).reason))).toEqual(['deadlock'])

    for (const each of both) {
      await each.begin()
      await each.run({ text: 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ', params: [] })
      await each.run({ text: 'SELECT n FROM t', params: [] })
    }
    await update(one, 1)
    await one.commit()
    expect(await classOf(update(two, 1))).toEqual(['serialization', '40001'])
    await two.rollback()

    await one.begin()
    await update(one, 1)
    expect(await classOf(two.run({ text: 'SELECT n FROM t WHERE x = 1 FOR UPDATE NOWAIT', params: [] }))).toEqual(['lock-timeout', '55P03'])
    await one.rollback()
  })

  it('takes a lost CREATE race for a table that is there already', async () => {
    const url = await emptyDatabase(serverUrl)
    const sessions = await Promise.all(Array.from({ length: 8 }, () => openStore(postgres({ url }), 'store', { statementMs: 10_000, rowLockMs: 10_000 })))
    for (let round = 0; round < 5; round++) {
      const outcomes = await Promise.allSettled(sessions.map((session) => session.run({ text: `CREATE TABLE IF NOT EXISTS t${round} (x int PRIMARY KEY)`, params: [] })))
      for (const outcome of outcomes) if (outcome.status === 'rejected') expect(classifyPostgres(outcome.reason)).toBe('already-exists')
    }
  }, 60_000)

  it('says of a character outside the encoding of the database that the name is invalid', async () => {
    const looker = await onlooker(serverUrl)
    const database = `sched_test_${Date.now()}_latin`
    await looker.query(`create database ${database} template template0 encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'`)
    onTestFinished(async () => { await (await onlooker(serverUrl)).query(`drop database ${database} with (force)`) })
    const url = new URL(serverUrl)
    url.pathname = `/${database}`
    const session = await openStore(postgres({ url: url.href }), 'store')
    expect(await failing(session, 'SELECT ?', '锁')).toEqual(['name-invalid', '22P05'])
  })
})

describe('an opening that fails', () => {
  describeServer(['postgres', 'postgres-oldest'], ({ url: serverUrl }) => {
    const variant = (change: (url: URL) => void): string => {
      const url = new URL(serverUrl)
      change(url)
      return url.href
    }

    it('is told apart: credentials, database, host, port, encryption, resources, privilege (P10)', async () => {
      const url = await emptyDatabase(serverUrl)
      const open = (target: string): Promise<[ErrorClass, unknown]> => classOf(openLocks({ url: target }))
      expect(await open(variant((each) => { each.password = 'wrong' }))).toEqual(['authentication', '28P01'])
      expect(await open(variant((each) => { each.password = '' }))).toEqual(['authentication', undefined])
      expect((await open(variant((each) => { each.username = 'nobody' })))[0]).toBe('authentication')
      expect(await open(variant((each) => { each.pathname = '/no_such_database' }))).toEqual(['authentication', '3D000'])
      expect(await open(variant((each) => { each.hostname = 'no-such-host.invalid' }))).toEqual(['connection-lost', expect.stringMatching(/ENOTFOUND|EAI_AGAIN/)])
      expect(await open(variant((each) => { each.port = '1' }))).toEqual(['connection-lost', 'ECONNREFUSED'])
      expect(await open(variant((each) => { each.search = '?sslmode=no-verify' }))).toEqual(['connection-lost', undefined])

      const looker = await onlooker(url)
      const role = `sched_role_${Date.now()}_few`
      await looker.query(`create role ${role} login connection limit 1 password 'only-for-this-test'`)
      onTestFinished(async () => { await (await onlooker(serverUrl)).query(`drop role ${role}`) })
      const few = new URL(url)
      few.username = role
      few.password = 'only-for-this-test'
      const only = await openLocks({ url: few.href })
      expect(await open(few.href)).toEqual(['resource-exhausted', '53300'])
      expect(await failing(only.sql, 'CREATE SCHEMA x')).toEqual(['permission', '42501'])
      expect(await failing(only.sql, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usesysid <> 0 AND usename = \'postgres\' AND datname = current_database()')).toEqual(['permission', '42501'])
      only.destroy()
    })

    it('never shows the password, in no message, stack or property (P10)', async () => {
      const secret = 'hunter2+secret'
      for (const target of [
        variant((each) => { each.password = secret }), variant((each) => { each.password = secret; each.port = '1' }),
        variant((each) => { each.password = secret; each.hostname = 'no-such-host.invalid' }), variant((each) => { each.password = secret; each.pathname = '/none' }),
        variant((each) => { each.password = secret; each.search = '?sslmode=no-verify' }), variant((each) => { each.password = secret; each.search = '?sslrootcert=/none' }),
      ]) {
        const error: unknown = await openLocks({ url: target }).catch((reason: unknown) => reason)
        expect(error).toBeInstanceOf(Error)
        const shown = everything(error)
        expect(shown).not.toContain('hunter2')
      }
    })
  })

  describeServer('pgbouncer-session', ({ url: serverUrl }) => {
    it('is told apart through PgBouncer as well (P10)', async () => {
      const open = (change: (url: URL) => void): Promise<[ErrorClass, unknown]> => {
        const url = new URL(serverUrl)
        change(url)
        return classOf(openLocks({ url: url.href }))
      }
      expect((await open((url) => { url.password = 'wrong' }))[0]).toBe('authentication')
      expect((await open((url) => { url.username = 'nobody' }))[0]).toBe('authentication')
      expect((await open((url) => { url.pathname = '/no_such_database' }))[0]).toBe('authentication')
      expect((await open((url) => { url.search = '?statement_timeout=5' }))[0]).toBe('unsupported')
    })
  })
})

describePrivatePostgres('newest', (start) => {
  it('gives a session that was ended the class connection-lost, whatever ended it (P5, P10)', async () => {
    await using server = await start({ settings: { max_connections: 5, superuser_reserved_connections: 0, reserved_connections: 0 } })
    const looker = await onlooker(server.url)
    const lent = await openStore(postgres({ url: server.url }), 'transaction')
    await lent.run({ text: 'SET transaction_timeout = 200', params: [] })
    await lent.begin()
    expect((await failing(lent, 'SELECT pg_sleep(5)'))[1]).toBe('25P04')
    const sessions = [await openLocks({ url: server.url }), await openLocks({ url: server.url }), await openLocks({ url: server.url })]
    const full = await classOf((async () => { for (;;) await openLocks({ url: server.url }) })())
    expect(full).toEqual(['resource-exhausted', '53300'])
    const sleeping = failing(sessions[0]!.sql, 'SELECT pg_sleep(2)')
    await looker.query('select pg_terminate_backend($1)', [sessions[0]!.id])
    expect(await sleeping).toEqual(['connection-lost', '57P01'])
  }, 60_000)

  it('says that lock memory is full, and the locks that are held stay (P10)', async () => {
    await using server = await start({ settings: { max_locks_per_transaction: 10, max_connections: 10 } })
    const one = await openLocks({ url: server.url })
    expect(await failing(one.sql, 'SELECT pg_advisory_lock(n) FROM generate_series(1, 100000) n')).toEqual(['resource-exhausted', '53200'])
    await expect(one.ping()).resolves.toBeUndefined()
  }, 60_000)
})

describe('errors of the driver itself', () => {
  it.each([
    ['Connection terminated unexpectedly', 'connection-lost'], ['Connection terminated', 'connection-lost'], ['Connection terminated due to connection timeout', 'connection-lost'],
    ['Client has encountered a connection error and is not queryable', 'connection-lost'], ['Client was closed and is not queryable', 'connection-lost'],
    ['timeout expired', 'connection-lost'], ['timeout exceeded when trying to connect', 'connection-lost'], ['Cannot use a pool after calling end on the pool', 'connection-lost'],
    ['The server does not support SSL connections', 'connection-lost'], ['Query read timeout', 'query-timeout'],
    ['SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string', 'authentication'], ['something else', 'unknown'],
  ] as const)('are known by their text: %s', (message, expected) => { expect(classifyPostgres(new Error(message))).toBe(expected) })

  it('do not take the name of a socket error for a SQLSTATE, nor anything for an error', () => {
    expect(classifyPostgres(Object.assign(new Error('x'), { code: 'EPIPE' }))).toBe('connection-lost')
    expect(classifyPostgres(Object.assign(new Error('x'), { code: '08999' }))).toBe('connection-lost')
    expect(classifyPostgres(Object.assign(new Error('x'), { code: '53999' }))).toBe('resource-exhausted')
    expect(classifyPostgres(Object.assign(new Error('x'), { code: 'ERR_08' }))).toBe('unknown')
    expect([classifyPostgres(undefined), classifyPostgres('08006'), classifyPostgres({ code: '08006' })]).toEqual(['unknown', 'unknown', 'unknown'])
    expect(classifyPostgres(new SchedError('SCHED_UNSAFE_POOLER', 'x', { details: { errorClass: 'connection-lost' } }))).toBe('connection-lost')
  })

  it('that a pool raises are as their texts say', async () => {
    const pool = new pg.Pool({ host: '127.0.0.1', port: 1, connectionTimeoutMillis: 50 })
    expect((await classOf(openLocks({ pool })))[0]).toBe('connection-lost')
    await pool.end()
    expect((await classOf(openLocks({ pool })))[0]).toBe('connection-lost')
  })
})

function everything(error: unknown, depth = 0): string {
  if (!(error instanceof Error) || depth > 3) return String(error)
  const own = Object.getOwnPropertyNames(error).map((key) => String((error as unknown as Record<string, unknown>)[key])).join('\n')
  return `${own}\n${everything(error.cause, depth + 1)}`
}
