import { expect, it, describe } from 'vitest'
import promiseApi from 'mysql2/promise'
import { describePrivateMysql, describeServer } from '@sched-dev/databases'
import { type ErrorClass } from '@sched/core/spi'
import { mysql } from '../src/index.ts'
import { readUrl } from '../src/connect/url.ts'
import { classifyMysql } from '../src/errors/classify.ts'
import { rememberVendor } from '../src/errors/vendor.ts'
import { emptyDatabase, errorOf, onlooker, openLocks, openOptions, openStore, singleServers } from './support/scene.ts'

describeServer(singleServers, ({ name: server, url: serverUrl }) => {
  it.each<[string, ErrorClass]>([
    ['SELECT x FROM nothing', 'missing-table'], ['SELECT x FROM nowhere_at_all.t', 'missing-table'], ['DROP TABLE nothing', 'missing-table'],
    ['CREATE TABLE t (y int)', 'already-exists'], ['INSERT INTO t VALUES (1)', 'duplicate-key'], ['SELECT nothing()', 'unsupported'], ['SELEC 1', 'unsupported'],
    ['SET SESSION nothing_known = 1', 'unsupported'], ['SELECT 1 FROM t WHERE y = 1', 'unknown'],
  ])('P10: says what a statement ran into: %s', async (text, expected) => {
    const dialect = mysql({ url: await emptyDatabase(serverUrl) })
    const session = await openStore(dialect, 'store')
    await session.run({ text: 'CREATE TABLE t (x bigint PRIMARY KEY)', params: [] })
    await session.run({ text: 'INSERT INTO t VALUES (1)', params: [] })
    expect(dialect.store!.classify(await errorOf(session.run({ text, params: [] })))).toBe(expected)
  })

  it('P10: tells a deadlock from a lock that is not given up, and a session goes on after both', async () => {
    const dialect = mysql({ url: await emptyDatabase(serverUrl) })
    const [one, two] = [await openStore(dialect, 'store'), await openStore(dialect, 'store')]
    await one.run({ text: 'CREATE TABLE t (x bigint PRIMARY KEY) ENGINE=InnoDB', params: [] })
    await one.run({ text: 'INSERT INTO t VALUES (1), (2)', params: [] })
    const touch = (session: typeof one, x: number): Promise<unknown> => session.run({ text: 'UPDATE t SET x = x WHERE x = ?', params: [x] })
    await one.begin()
    await two.begin()
    await touch(one, 1)
    await touch(two, 2)
    const results = await Promise.allSettled([touch(one, 2), touch(two, 1)])
    const failed = results.filter((result) => result.status === 'rejected')
    expect(failed.map(({ reason }) => classifyMysql(reason))).toContain('deadlock')
    await Promise.all([one.rollback(), two.rollback()])
    await Promise.all([one.ping(), two.ping()])
  })

  it('P10: says who is refused, without the password', async () => {
    const database = await emptyDatabase(serverUrl)
    const looker = await onlooker(database)
    const account = `reader_${Date.now().toString(36)}`
    await looker.query(`CREATE USER '${account}'@'%' IDENTIFIED BY 'only-for-this-test'`)
    try {
      const as = (user: string, password: string, path = new URL(database).pathname): string => {
        const url = new URL(database)
        Object.assign(url, { username: user, password, pathname: path })
        return url.href
      }
      for (const [url, expected] of [
        [as(account, 'wrong-hunter2'), 'authentication'], [as('nobody-here', 'wrong-hunter2'), 'authentication'],
        [as(account, 'only-for-this-test'), 'authentication'], // the database is not open to it
        [as(decodeURIComponent(new URL(database).username), decodeURIComponent(new URL(database).password), '/no_such_database'), 'authentication'],
      ] as const) {
        const dialect = mysql({ url })
        const error = await errorOf(dialect.locks.probe(openOptions()))
        expect([error.message, dialect.locks.classify(error)]).toEqual([error.message, expected])
        expect(JSON.stringify([error.message, error.stack, error['sql']])).not.toMatch(/hunter2|only-for-this-test/)
      }
      await looker.query(`GRANT SELECT ON ${new URL(database).pathname.slice(1)}.* TO '${account}'@'%'`)
      await looker.query('CREATE TABLE t (x int)')
      // Sessions that were there before the limit are not counted.
      await looker.query(`ALTER USER '${account}'@'%' WITH MAX_USER_CONNECTIONS 1`)
      const session = await openStore(mysql({ url: as(account, 'only-for-this-test') }), 'store')
      expect(classifyMysql(await errorOf(session.run({ text: 'INSERT INTO t VALUES (1)', params: [] })))).toBe('permission')
      expect(classifyMysql(await errorOf(session.run({ text: 'CREATE TABLE other_database.t (x int)', params: [] })))).toMatch(/permission|missing-table/)
      expect(classifyMysql(await errorOf(openLocks({ url: as(account, 'only-for-this-test') })))).toBe('resource-exhausted')
      session.destroy()
    } finally {
      await looker.query(`DROP USER '${account}'@'%'`)
    }
  })

  it('P10: nobody there, no such host, no TLS: connection-lost, and the password is not in the message', async () => {
    for (const url of ['mysql://u:hunter2@127.0.0.1:1/x', 'mysql://u:hunter2@no-such-host.invalid/x', 'mysql://u:hunter2@127.0.0.1/x?socketPath=/no/such/socket']) {
      const error = await errorOf(openLocks({ url }))
      expect([url, classifyMysql(error)]).toEqual([url, 'connection-lost'])
      expect(error.message).not.toContain('hunter2')
    }
    if (server === 'mariadb-oldest') expect(classifyMysql(await errorOf(openLocks({ url: `${serverUrl}?ssl-mode=REQUIRED` })))).toBe('connection-lost')
    else expect(classifyMysql(await errorOf(openLocks({ url: `${serverUrl}?ssl-mode=VERIFY_CA` })))).toBe('connection-lost') // a certificate that nobody signed
  })
})

describeServer(singleServers, ({ name: server, url: serverUrl }) => {
  it('P10: tells what belongs to one product from what belongs to the other', async () => {
    const url = await emptyDatabase(serverUrl)
    const dialect = mysql({ url })
    const [one, two] = [await openStore(dialect, 'transaction'), await openStore(dialect, 'transaction')]
    const raised = async (session: typeof one, text: string): Promise<[unknown, ErrorClass]> => {
      const error = await errorOf(session.run({ text, params: [] }))
      return [error['errno'], classifyMysql(error)]
    }
    await one.run({ text: 'CREATE TABLE t (x bigint PRIMARY KEY, y bigint) ENGINE=InnoDB', params: [] })
    await one.run({ text: 'INSERT INTO t VALUES (1, 1)', params: [] })
    await one.begin()
    await one.run({ text: 'SELECT x FROM t FOR UPDATE', params: [] })
    expect(await raised(two, 'SELECT x FROM t FOR UPDATE NOWAIT')).toEqual([server === 'mysql' ? 3572 : 1205, 'lock-timeout'])
    await one.rollback()
    if (server === 'mysql') expect(await raised(one, "SELECT GET_LOCK('', 0)")).toEqual([3057, 'name-invalid'])
    if (server === 'mariadb') {
      // REPEATABLE READ with innodb_snapshot_isolation: the row has changed since the snapshot.
      await one.begin()
      await one.run({ text: 'SELECT x FROM t', params: [] })
      await two.run({ text: 'UPDATE t SET y = 2', params: [] })
      expect(await raised(one, 'UPDATE t SET y = 3')).toEqual([1020, 'serialization'])
      await one.rollback()
    }
    await two.run({ text: 'SET SESSION TRANSACTION READ ONLY', params: [] })
    expect(await raised(two, 'INSERT INTO t VALUES (2, 2)')).toEqual([1792, 'read-only'])
  })
})

describePrivateMysql(['mysql', 'mariadb'], (start) => {
  it('P10: a server without a connection to spare, one that does not answer, and a pool that was closed', async () => {
    await using server = await start({ settings: { 'max-connections': 10 } }) // the smallest there is
    const open = await Promise.all(Array.from({ length: 9 }, () => openLocks({ url: server.url })))
    const more = await Promise.allSettled(Array.from({ length: 4 }, () => openLocks({ url: server.url })))
    const refused = more.filter((result) => result.status === 'rejected').map(({ reason }) => reason as Error & { errno: number })
    expect(refused.length).toBeGreaterThan(0)
    for (const error of refused) expect([error.errno, classifyMysql(error)]).toEqual([1040, 'resource-exhausted'])
    for (const each of open) each.destroy()
    const pool = promiseApi.createPool({ ...readUrl(server.url) })
    await pool.end()
    expect(classifyMysql(await errorOf(openLocks({ pool })))).toBe('connection-lost')
    await server.freeze()
    expect(classifyMysql(await errorOf(openLocks({ url: `${server.url}?connectTimeout=300` })))).toBe('connection-lost')
    server.thaw()
  }, 60_000)
})

describe('a number that means something else to the other product', () => {
  const error = (fields: object): Error => Object.assign(new Error('x'), fields)
  it.each<[object, 'mysql' | 'mariadb' | undefined, ErrorClass]>([
    [{ code: 4031, fatal: true }, 'mysql', 'connection-lost'], [{ errno: 4031, code: 'ER_CLIENT_INTERACTION_TIMEOUT' }, 'mysql', 'connection-lost'], [{ errno: 4031 }, 'mariadb', 'unknown'],
    [{ errno: 3058 }, 'mysql', 'deadlock'], [{ errno: 3058 }, 'mariadb', 'unknown'], [{ errno: 1969 }, 'mariadb', 'query-timeout'], [{ errno: 1969 }, 'mysql', 'unknown'],
    [{ errno: 1927 }, 'mariadb', 'connection-lost'], [{ errno: 1020 }, 'mariadb', 'serialization'], [{ errno: 1020 }, 'mysql', 'unknown'], [{ errno: 1047 }, 'mariadb', 'connection-lost'],
    [{ errno: 4163 }, 'mysql', 'name-invalid'], [{ errno: 3024 }, 'mysql', 'query-timeout'], [{ errno: 3101 }, 'mysql', 'serialization'], [{ errno: 3572 }, 'mysql', 'lock-timeout'],
    [{ errno: 1205 }, undefined, 'lock-timeout'], [{ errno: 1213 }, undefined, 'deadlock'], [{ errno: 1049 }, undefined, 'authentication'], [{ errno: 1049 }, 'mysql', 'missing-table'],
    [{ errno: -104, code: 'ECONNRESET' }, undefined, 'connection-lost'], [{ code: 'PROTOCOL_SEQUENCE_TIMEOUT' }, undefined, 'query-timeout'], [{}, undefined, 'unknown'],
  ])('P10: is read by whose it is: %o of %s', (fields, vendor, expected) => {
    expect(classifyMysql(rememberVendor(error(fields), vendor))).toBe(expected)
  })

  it('P10: what is no error of the driver is unknown', () => {
    expect([classifyMysql('text'), classifyMysql(undefined), classifyMysql(new TypeError('x'))]).toEqual(['unknown', 'unknown', 'unknown'])
    expect(classifyMysql(new Error("Can't add new command when connection is in closed state"))).toBe('connection-lost')
  })
})
