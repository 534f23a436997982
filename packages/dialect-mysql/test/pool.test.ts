import { setTimeout as sleep } from 'node:timers/promises'
import callbackApi, { type PoolOptions } from 'mysql2'
import promiseApi from 'mysql2/promise'
import { expect, it, onTestFinished } from 'vitest'
import { createLocks } from '@sched/core'
import { describeServer } from '@sched-dev/databases'
import { lockName } from '@sched/core/spi'
import { mysql } from '../src/index.ts'
import { readUrl } from '../src/connect/url.ts'
import { encodedName } from '../src/locks/encoded-name.ts'
import { getLockStrategy as locks } from '../src/locks/get-lock-strategy.ts'
import { emptyDatabase, errorOf, eventually, freshName, holding, onlooker, openLocks, openOptions, openStore, request, singleServers } from './support/scene.ts'

function promisePool(url: string, options: PoolOptions = {}): promiseApi.Pool {
  const pool = promiseApi.createPool({ ...readUrl(url), ...options } as PoolOptions)
  onTestFinished(() => pool.end())
  return pool
}

function callbackPool(url: string, options: PoolOptions = {}): callbackApi.Pool {
  const pool = callbackApi.createPool({ ...readUrl(url), ...options } as PoolOptions)
  onTestFinished(() => new Promise((resolve) => { pool.end(() => { resolve() }) }))
  return pool
}

/** Connections the pool has, lent ones too: read from what mysql2 does not document. */
const size = (pool: callbackApi.Pool | promiseApi.Pool): number => (('pool' in pool ? pool.pool : pool) as unknown as { _allConnections: { length: number } })._allConnections.length

describeServer(singleServers, ({ url: serverUrl }) => {
  it.each(['mysql2', 'mysql2/promise'])('P3: closes what it borrowed from a pool of two, and gives nothing back: %s', async (api) => {
    const pool = api === 'mysql2' ? callbackPool(serverUrl, { connectionLimit: 2 }) : promisePool(serverUrl, { connectionLimit: 2 })
    const looker = await onlooker(serverUrl)
    const one = await openLocks({ pool }, { leaseMs: 2_000 })
    const a = freshName()
    await locks.tryLock(one, request(a))
    expect(size(pool)).toBe(1)
    one.destroy()
    await eventually(async () => size(pool) === 0)
    const other = await openLocks({ url: serverUrl })
    await eventually(async () => await locks.isHeld(other, holding(a)) === 'free')
    const ask = 'SELECT @@wait_timeout AS w, @sched_label AS label, @@autocommit AS a'
    const fresh = api === 'mysql2' ? await new Promise((resolve) => { (pool as callbackApi.Pool).query(ask, (_error, rows) => { resolve(rows) }) }) : (await (pool as promiseApi.Pool).query(ask))[0]
    expect(fresh).toEqual([{ w: 28800, label: null, a: 1 }])
    await eventually(async () => (await looker.query('SELECT 1 FROM information_schema.processlist WHERE id = ?', [one.id])).length === 0)
  })

  it('gives the pool its place back when the server has ended the session', async () => {
    const pool = promisePool(serverUrl, { connectionLimit: 1 })
    const [one, looker] = [await openLocks({ pool }), await onlooker(serverUrl)]
    await looker.query(`KILL ${one.id}`)
    await eventually(async () => size(pool) === 0)
    one.destroy() // as the core does, later
    expect((await pool.query('select 1 as x'))[0]).toEqual([{ x: 1 }])
  })

  it('P3: does not take a connection that was released in the middle of a transaction', async () => {
    const pool = promisePool(serverUrl, { connectionLimit: 2 })
    const connection = await pool.getConnection()
    await connection.query('START TRANSACTION')
    connection.release()
    await expect(openLocks({ pool })).rejects.toMatchObject({ code: 'SCHED_SESSION_LOST', retryable: true, message: expect.stringContaining('middle of a transaction') as string })
    await eventually(async () => size(pool) === 0)
    expect(await locks.tryLock(await openLocks({ pool }), request(freshName()))).toEqual({ status: 'granted' })
  })

  it('hands ctx.transaction the connection under its own type, and closes it also when user code has released it', async () => {
    const url = await emptyDatabase(serverUrl)
    const [byPromise, byCallback] = [promisePool(url, { connectionLimit: 1, resetOnRelease: true }), callbackPool(url, { connectionLimit: 1 })]
    const session = await openStore(mysql({ pool: byPromise }), 'transaction')
    await session.begin()
    expect((await session.client.query('select 1 as x'))[0]).toEqual([{ x: 1 }])
    session.client.release()
    session.destroy()
    await eventually(async () => size(byPromise) === 0)
    const other = await openStore(mysql({ pool: byCallback }), 'transaction')
    expect(await new Promise((resolve) => { other.client.query('select 2 as x', (_error, rows) => { resolve(rows) }) })).toEqual([{ x: 2 }])
    other.destroy()
    await eventually(async () => size(byCallback) === 0)
  })

  it('ends an opening that waits in the queue of a full pool, and the pool goes on', async () => {
    const pool = promisePool(serverUrl, { connectionLimit: 1 })
    const busy = await pool.getConnection()
    await expect(openLocks({ pool }, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: 'TimeoutError' })
    busy.release()
    await eventually(async () => size(pool) === 0)
    expect((await pool.query('select 1 as x'))[0]).toEqual([{ x: 1 }])
    const eager = promisePool(serverUrl, { connectionLimit: 1, waitForConnections: false })
    const dialect = mysql({ pool: eager })
    await eager.getConnection()
    expect(dialect.locks.classify(await errorOf(openLocks({ pool: eager })))).toBe('resource-exhausted')
  })

  it('P11: refuses a pool that cannot work, and tells the limit of others', async () => {
    expect((await mysql({ pool: promisePool(serverUrl, { connectionLimit: 1 }) }).locks.probe(openOptions())).findings).toContainEqual(expect.objectContaining({ level: 'refuse', code: 'SCHED_UNSAFE_LIMIT' }))
    const small = await mysql({ pool: callbackPool(serverUrl, { connectionLimit: 2 }) }).locks.probe(openOptions())
    expect([small.poolLimit, small.findings.filter(({ code }) => code === 'SCHED_UNSAFE_LIMIT')]).toEqual([2, []])
  })

  it('is not changed by how the pool reads values, nor changes that', async () => {
    const pool = promisePool(await emptyDatabase(serverUrl), {
      typeCast: () => 'from the pool', namedPlaceholders: true, rowsAsArray: true, dateStrings: true, decimalNumbers: true, charset: 'LATIN1_SWEDISH_CI', multipleStatements: true,
    })
    const session = await openStore(mysql({ pool }), 'store')
    expect((await session.run({ text: 'SELECT 5 AS n, ? AS t, `:name` AS named FROM (SELECT 1 AS `:name`) x', params: ['ä锁🔒 :a'] })).rows).toEqual([{ n: 5, t: 'ä锁🔒 :a', named: 1 }])
    expect((await session.client.query('select 5 as n'))[0]).toEqual([['from the pool']])
  })

  it('P3, P4: the classic accident: 50 flows, a pool of two, each lock taken on one flow and released on another', async () => {
    const pool = promisePool(serverUrl, { connectionLimit: 2 })
    const looker = await onlooker(serverUrl)
    const space = `accident-${Date.now().toString(36)}`
    const held = createLocks({ dialect: mysql({ pool }), namespace: space, leaseMs: 10_000 })
    onTestFinished(async () => { await held.close() })
    const holderOf = async (key: string): Promise<number | null> => (await looker.query('SELECT IS_USED_LOCK(?) AS holder', [encodedName(lockName(space, 'user', key))]))[0]?.['holder'] as number | null
    const pinned = new Set<number>()
    let early = 0

    await Promise.all(Array.from({ length: 50 }, async (_, index) => {
      const key = `order-${index}`
      const lease = await held.acquire(key, { waitMs: 20_000 })
      // Another flow does the work and lets go; this one has long gone on.
      await new Promise<void>((resolve, reject) => {
        setTimeout(() => {
          void (async () => {
            for (let look = 0; look < 3; look++) {
              const holder = await holderOf(key)
              if (holder === null) early++
              else pinned.add(holder)
              await sleep(Math.random() * 20)
            }
            expect((await lease.release()).status).toBe('released')
            expect(await holderOf(key)).toBeNull()
          })().then(resolve, reject)
        }, Math.random() * 20)
      })
    }))
    expect(early).toBe(0)
    expect(pinned.size).toBe(1) // one session held them all
    expect(size(pool)).toBeLessThanOrEqual(2)
    const [session] = [...pinned]
    expect((await looker.query('SELECT COUNT(*) AS n FROM information_schema.processlist WHERE id = ?', [session]))[0]?.['n']).toBe(1)
    await held.close()
    await eventually(async () => (await looker.query('SELECT 1 FROM information_schema.processlist WHERE id = ?', [session])).length === 0)
  }, 40_000)
})
