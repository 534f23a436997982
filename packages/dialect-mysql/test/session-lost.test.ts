import { setTimeout as sleep } from 'node:timers/promises'
import promiseApi from 'mysql2/promise'
import { expect, it } from 'vitest'
import { describePrivateMysql, describeServer, proxyFor } from '@sched-dev/databases'
import { mysql } from '../src/index.ts'
import { readUrl } from '../src/connect/url.ts'
import { classifyMysql } from '../src/errors/classify.ts'
import { getLockDiagnostics } from '../src/locks/get-lock-diagnostics.ts'
import { getLockStrategy as locks } from '../src/locks/get-lock-strategy.ts'
import { emptyDatabase, errorOf, eventually, freshName, holding, onlooker, openLocks, openOptions, openStore, request, singleServers } from './support/scene.ts'

function watch(target: { onLost?(callback: (cause: Error) => void): void }): { readonly causes: Error[] } {
  const causes: Error[] = []
  target.onLost?.((cause) => { causes.push(cause) })
  return { causes }
}

describeServer(singleServers, ({ url }) => {
  it('P5: tells once that an idle session was ended, without a query', async () => {
    const [one, killer] = [await openLocks({ url }), await openLocks({ url })]
    const [connection, session] = [watch(one), watch(one.sql)]
    const a = freshName()
    await locks.tryLock(one, request(a))
    await getLockDiagnostics.kill!(killer, one.id)
    await eventually(async () => connection.causes.length > 0)
    await sleep(100) // 'end', 'error' and 'close' come one after the other
    expect([connection.causes.length, session.causes.length]).toEqual([1, 1])
    expect(classifyMysql(connection.causes[0])).toBe('connection-lost')
    await expect(one.ping()).rejects.toThrow()
    expect(await locks.tryLock(killer, request(a))).toEqual({ status: 'granted' })
    expect(watch(one).causes).toHaveLength(1) // who asks late is told too
  })

  it('P5, P10: tells once that a session was ended while it worked, and the statement rejects', async () => {
    const [one, killer] = [await openLocks({ url }, { leaseMs: 60_000 }), await openLocks({ url })]
    const { causes } = watch(one)
    const working = one.sql.run({ text: 'SELECT SLEEP(10)', params: [] })
    setTimeout(() => { void getLockDiagnostics.kill!(killer, one.id) }, 50)
    expect(classifyMysql(await errorOf(working))).toBe('connection-lost')
    await sleep(100)
    expect(causes).toHaveLength(1)
  })

  it('P5: tells that wait_timeout has ended the session', async () => {
    const one = await openLocks({ url }, { leaseMs: 2_000 })
    const { causes } = watch(one)
    const a = freshName()
    const began = performance.now()
    await locks.tryLock(one, request(a))
    await eventually(async () => causes.length === 1, 15_000)
    expect(performance.now() - began).toBeGreaterThan(1_900)
    expect(classifyMysql(causes[0])).toBe('connection-lost')
    const other = await openLocks({ url })
    await eventually(async () => await locks.isHeld(other, holding(a)) === 'free')
  })

  it('P5: tells that the network was cut, and nothing of a session it destroyed itself', async () => {
    const proxy = await proxyFor(url)
    const [cut, destroyed] = [await openLocks({ url: proxy.url(url) }), await openLocks({ url })]
    const [lost, quiet] = [watch(cut), watch(destroyed)]
    expect(proxy.cut()).toBe(1)
    destroyed.destroy()
    await eventually(async () => lost.causes.length === 1)
    expect(classifyMysql(lost.causes[0])).toBe('connection-lost')
    await sleep(50)
    expect(quiet.causes).toEqual([])
  })

  it('ends a session at once although nothing gets through any more, and what was asked of it rejects', async () => {
    const proxy = await proxyFor(url)
    const one = await openLocks({ url: proxy.url(url) })
    proxy.blackhole()
    const pinging = one.ping()
    one.destroy()
    await expect(pinging).rejects.toThrow('destroyed')
  })

  it('leaves no session behind when an opening is aborted, wherever it was', async () => {
    const own = await emptyDatabase(url)
    const proxy = await proxyFor(own)
    const dialect = mysql({ url: proxy.url(own) })
    const looker = await onlooker(own)
    for (const delayMs of [0, 5, 20, 50, 90]) {
      proxy.delay(20)
      const abort = new AbortController()
      const reason = new Error('given up')
      setTimeout(() => { abort.abort(reason) }, delayMs)
      await expect(dialect.locks.open('pulse', openOptions({ signal: abort.signal }))).rejects.toBe(reason)
      await proxy.heal()
    }
    await expect(dialect.locks.open('pulse', openOptions({ signal: AbortSignal.abort(new Error('before')) }))).rejects.toThrow('before')
    await eventually(async () => proxy.connections === 0)
    await eventually(async () => (await looker.query('SELECT 1 FROM information_schema.processlist WHERE db = DATABASE()')).length <= 1)
  })

  it('closes what it opened, and opens nothing after that', async () => {
    const dialect = mysql({ url })
    const session = await openStore(dialect, 'store')
    await dialect.close()
    await dialect.close()
    await expect(session.ping()).rejects.toThrow()
    await expect(dialect.store!.open('store', { ...openOptions(), statementMs: 1, rowLockMs: 1, sharedSessions: false })).rejects.toMatchObject({ code: 'SCHED_STOPPED' })
  })
})

describePrivateMysql(['mysql', 'mariadb', 'mariadb-oldest'], (start) => {
  it('P5: tells of a server that was killed or restarted, and opens again when it is back; what was committed is there', async () => {
    await using server = await start()
    const writer = await openStore(mysql({ url: server.url }), 'store')
    await writer.run({ text: 'CREATE TABLE t (x bigint PRIMARY KEY) ENGINE=InnoDB', params: [] })
    for (const [index, mode] of (['clean', 'kill'] as const).entries()) {
      const one = await openLocks({ url: server.url })
      const session = await openStore(mysql({ url: server.url }), 'store')
      await session.run({ text: 'INSERT INTO t VALUES (?)', params: [index] })
      const { causes } = watch(one)
      await locks.tryLock(one, request('held'))
      await server.stop(mode)
      await eventually(async () => causes.length === 1)
      expect(classifyMysql(causes[0])).toBe('connection-lost')
      expect(classifyMysql(await errorOf(openLocks({ url: server.url })))).toBe('connection-lost')
      await server.start()
    }
    expect(await locks.isHeld(await openLocks({ url: server.url }), holding('held'))).toBe('free')
    expect((await (await openStore(mysql({ url: server.url }), 'store')).run({ text: 'SELECT x FROM t ORDER BY x', params: [] })).rows).toEqual([{ x: 0 }, { x: 1 }])
  }, 90_000)

  it('gives up an opening on a frozen server when it is aborted', async () => {
    await using server = await start()
    await server.freeze()
    await expect(openLocks({ url: server.url }, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: 'TimeoutError' })
    const pool = promiseApi.createPool({ ...readUrl(server.url) })
    await expect(openLocks({ pool }, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: 'TimeoutError' })
    server.thaw()
    await eventually(async () => (pool.pool as unknown as { _allConnections: { length: number } })._allConnections.length === 0) // the late arrival was closed, not kept
    await pool.end()
  }, 60_000)

  it('P10: a server that becomes read-only refuses writes by that name, and a session goes on after it', async () => {
    await using server = await start()
    const looker = await onlooker(server.url)
    // Accounts with a privilege for it may write on; ours here has all of them.
    await looker.query("CREATE USER 'writer'@'%' IDENTIFIED BY 'only-for-this-test'")
    await looker.query("GRANT ALL ON test.* TO 'writer'@'%'")
    const url = new URL(server.url)
    Object.assign(url, { username: 'writer', password: 'only-for-this-test' })
    const dialect = mysql({ url: url.href })
    const session = await openStore(dialect, 'store')
    await session.run({ text: 'CREATE TABLE t (x bigint PRIMARY KEY) ENGINE=InnoDB', params: [] })
    await session.begin()
    await session.run({ text: 'INSERT INTO t VALUES (1)', params: [] })
    const switching = looker.query('SET GLOBAL read_only = ON') // waits for transactions that are at their commit, not for open ones
    await switching
    expect(dialect.store!.classify(await errorOf(session.commit()))).toBe('read-only')
    await session.rollback()
    expect(dialect.store!.classify(await errorOf(session.run({ text: 'INSERT INTO t VALUES (2)', params: [] })))).toBe('read-only')
    await session.ping()
    await looker.query('SET GLOBAL read_only = OFF')
    await session.run({ text: 'INSERT INTO t VALUES (3)', params: [] })
    expect((await session.run({ text: 'SELECT x FROM t', params: [] })).rows).toEqual([{ x: 3 }])
  }, 60_000)
})
