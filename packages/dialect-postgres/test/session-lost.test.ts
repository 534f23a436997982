import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import pg from 'pg'
import { describePrivatePostgres, describeServer, proxyFor } from '@sched-dev/databases'
import { postgres } from '../src/index.ts'
import { advisoryDiagnostics } from '../src/locks/advisory-diagnostics.ts'
import { advisoryStrategy as locks } from '../src/locks/advisory-strategy.ts'
import { classifyPostgres } from '../src/errors/classify.ts'
import { emptyDatabase, eventually, holding, onlooker, openLocks, openOptions, openStore, request } from './support/scene.ts'

interface Watched { readonly causes: Error[] }

function watch(target: { onLost?(callback: (cause: Error) => void): void }): Watched {
  const causes: Error[] = []
  target.onLost?.((cause) => { causes.push(cause) })
  return { causes }
}

describeServer(['postgres', 'postgres-oldest', 'pgbouncer-session'], ({ name, url: serverUrl }) => {
  it('tells once that an idle session was ended, without a query (P5)', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, killer] = [await openLocks({ url }), await openLocks({ url })]
    const [connection, session] = [watch(one), watch(one.sql)]
    await locks.tryLock(one, request('a'))
    await advisoryDiagnostics.kill!(killer, one.id)
    await eventually(async () => connection.causes.length > 0)
    await sleep(100) // a FATAL error gives a second event
    expect([connection.causes.length, session.causes.length]).toEqual([1, 1])
    expect(classifyPostgres(connection.causes[0])).toBe('connection-lost')
    await expect(one.ping()).rejects.toThrow()
    expect(await locks.tryLock(killer, request('a'))).toEqual({ status: 'granted' })
    expect(watch(one).causes).toHaveLength(1) // who asks late is told too
  })

  it('tells once that a session was ended while it worked, and the statement rejects (P5, P10)', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, killer] = [await openLocks({ url }, { leaseMs: 60_000 }), await openLocks({ url })]
    const { causes } = watch(one)
    const working = one.sql.run({ text: 'SELECT pg_sleep(10)', params: [] })
    setTimeout(() => { void advisoryDiagnostics.kill!(killer, one.id) }, 50)
    const error: unknown = await working.then(() => undefined, (reason: unknown) => reason)
    expect(classifyPostgres(error)).toBe('connection-lost')
    await sleep(100)
    expect(causes).toHaveLength(1)
  })

  it('tells that the network was cut, and nothing of a session it destroyed itself', async () => {
    const url = await emptyDatabase(serverUrl)
    const proxy = await proxyFor(url)
    const [cut, destroyed] = [await openLocks({ url: proxy.url(url) }), await openLocks({ url })]
    const [lost, quiet] = [watch(cut), watch(destroyed)]
    expect(proxy.cut()).toBe(1)
    destroyed.destroy()
    await eventually(async () => lost.causes.length === 1)
    expect(classifyPostgres(lost.causes[0])).toBe('connection-lost')
    await sleep(50)
    expect(quiet.causes).toEqual([])
  })

  it('ends a session at once although nothing gets through any more', async () => {
    const url = await emptyDatabase(serverUrl)
    const proxy = await proxyFor(url)
    const [busy, idle] = [await openLocks({ url: proxy.url(url) }), await openLocks({ url: proxy.url(url) })]
    proxy.blackhole()
    const pinging = busy.ping()
    busy.destroy()
    idle.destroy()
    await expect(pinging).rejects.toThrow()
    // A goodbye that nobody answers would keep the socket, and the process, for as long as the kernel likes.
    for (const { sql } of [busy, idle]) expect((sql.client as { connection: { stream: Socket } }).connection.stream.destroyed).toBe(true)
  })

  it('lists, counts and ends the sessions of a label', async () => {
    const url = await emptyDatabase(serverUrl)
    const { label } = openOptions()
    const [one, two, asking] = [await openLocks({ url }, { label }), await openLocks({ url }, { label }), await openLocks({ url })]
    await locks.tryLock(one, request('a'))
    await locks.tryLock(two, request('b'))
    expect(await advisoryDiagnostics.sessions(asking, label)).toEqual([one.id, two.id].sort((a, b) => a - b))
    expect(await advisoryDiagnostics.locks(asking, label)).toBe(2)
    expect(await advisoryDiagnostics.sessions(one, label)).toEqual([two.id])
    await advisoryDiagnostics.kill!(asking, one.id)
    await eventually(async () => (await advisoryDiagnostics.sessions(asking, label)).length === 1)
    expect(await advisoryDiagnostics.locks(asking, label)).toBe(1)
    await advisoryDiagnostics.kill!(asking, one.id) // gone already: as asked
  })

  it('leaves no session behind when an opening is aborted, wherever it was', async () => {
    const url = await emptyDatabase(serverUrl)
    const proxy = await proxyFor(url)
    const dialect = postgres({ url: proxy.url(url) })
    const looker = await onlooker(url)
    for (const delayMs of [0, 5, 20, 50]) {
      proxy.delay(20)
      const abort = new AbortController()
      const reason = new Error('given up')
      setTimeout(() => { abort.abort(reason) }, delayMs)
      await expect(dialect.locks.open('pulse', openOptions({ signal: abort.signal }))).rejects.toBe(reason)
      await proxy.heal()
    }
    await expect(dialect.locks.open('pulse', openOptions({ signal: AbortSignal.abort(new Error('before')) }))).rejects.toThrow('before')
    await eventually(async () => proxy.connections === 0)
    // What PgBouncer keeps idle on the server, and how many, is its own affair.
    if (name !== 'pgbouncer-session') await eventually(async () => (await looker.query("select 1 from pg_stat_activity where datname = current_database() and backend_type = 'client backend'")).rows.length <= 1)
  })

  it('closes what it opened, and opens nothing after that', async () => {
    const url = await emptyDatabase(serverUrl)
    const dialect = postgres({ url })
    const session = await openStore(dialect, 'store')
    await dialect.close()
    await dialect.close()
    await expect(session.ping()).rejects.toThrow()
    await expect(dialect.store!.open('store', { ...openOptions(), statementMs: 1, rowLockMs: 1, sharedSessions: false })).rejects.toMatchObject({ code: 'SCHED_STOPPED' })
  })
})

describePrivatePostgres('newest', (start) => {
  it('tells of a server that was killed or restarted, and opens again when it is back (P5)', async () => {
    await using server = await start()
    for (const mode of ['fast', 'kill'] as const) {
      const one = await openLocks({ url: server.url })
      const { causes } = watch(one)
      await server.stop(mode)
      await eventually(async () => causes.length === 1)
      expect(classifyPostgres(causes[0])).toBe('connection-lost')
      await expect(openLocks({ url: server.url })).rejects.toSatisfy((error) => classifyPostgres(error) === 'connection-lost')
      await server.start()
    }
    expect(await locks.isHeld(await openLocks({ url: server.url }), holding('a'))).toBe('free')
  }, 60_000)

  it('gives up an opening on a frozen server when it is aborted', async () => {
    await using server = await start()
    await server.freeze()
    await expect(openLocks({ url: server.url }, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: 'TimeoutError' })
    const pool = new pg.Pool({ connectionString: server.url })
    await expect(openLocks({ pool }, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject({ name: 'TimeoutError' })
    server.thaw()
    await eventually(async () => pool.totalCount === 0) // the late arrival was closed, not kept
    await pool.end()
  }, 60_000)
})

describe('a session that is not the one that was opened', () => {
  describeServer('pgbouncer-transaction', ({ url: serverUrl }) => {
    it('is found out by the next lock statement, and lost (P3, P11)', async () => {
      const url = await emptyDatabase(serverUrl)
      const one = await openLocks({ url })
      const { causes } = watch(one)
      await locks.tryLock(one, request('a'))
      const two = await openLocks({ url }) // the pooler gives it the same server session
      for (const statement of [() => locks.refresh(one, [holding('a')], 10_000), () => locks.tryLock(one, request('b'))]) {
        await expect(statement()).rejects.toThrow()
      }
      expect(causes).toMatchObject([{ code: 'SCHED_UNSAFE_POOLER' }])
      expect(await locks.isHeld(two, holding('b'))).toBe('free')
    })

    it('is not even opened when the probe has said so', async () => {
      const url = await emptyDatabase(serverUrl)
      await expect(openLocks({ url }, { sharedSessions: true })).rejects.toMatchObject({ code: 'SCHED_UNSAFE_POOLER', message: expect.stringContaining('session pooling') as string })
    })
  })
})
