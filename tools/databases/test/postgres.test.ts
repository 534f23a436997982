import { Client } from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { describePrivatePostgres, describeServer, freshDatabase, proxyFor, server, type PostgresVersion } from '../src/index.ts'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } })

async function session(url: string, connectionTimeoutMillis = 20_000): Promise<Client> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(async () => { await client.end().catch(() => {}) })
  return client
}

describeServer(['postgres', 'postgres-middle', 'postgres-oldest', 'pgbouncer-transaction', 'pgbouncer-session'], ({ url }) => {
  it('gives out databases that do not see each other, and drops them while in use', async () => {
    const [first, second] = await Promise.all([freshDatabase(url), freshDatabase(url)])
    const client = await session(first.url)
    await client.query('create table t (x int)')
    const other = await session(second.url)
    await expect(other.query('select * from t')).rejects.toMatchObject({ code: '42P01' })
    await Promise.all([first.drop(), second.drop()])
    await first.drop()
    await expect(client.query('select 1')).rejects.toThrow()
  })

  it('cuts a COMMIT that the server has executed, and one that it never saw', async () => {
    await using database = await freshDatabase(url)
    const proxy = await proxyFor(database.url)
    const direct = await session(database.url)
    await direct.query('create table t (x int)')
    const insert = async (value: number, how: 'cutAfterClientBytes' | 'cutBeforeForward'): Promise<void> => {
      const client = await session(proxy.url(database.url))
      await client.query('begin')
      await client.query('insert into t values ($1)', [value])
      const cut = proxy[how]((bytes) => bytes.includes('commit'))
      await expect(client.query('commit')).rejects.toThrow()
      await cut
    }
    await insert(1, 'cutAfterClientBytes')
    await insert(2, 'cutBeforeForward')
    expect((await direct.query('select x from t')).rows).toEqual([{ x: 1 }])
  })
})

describeServer('pgbouncer-transaction', ({ url }) => {
  it('really shares one backend between clients', async () => {
    const [one, two] = [await session(url), await session(url)]
    const lock = 'select pg_try_advisory_lock(4711) as got'
    const unlock = 'select pg_advisory_unlock(4711)'
    expect([(await one.query(lock)).rows, (await two.query(lock)).rows]).toEqual([[{ got: true }], [{ got: true }]])
    await one.query(unlock)
    await two.query(unlock)
  })
})

for (const version of ['newest', 'oldest'] satisfies PostgresVersion[]) {
  describePrivatePostgres(version, (start) => {
    it('keeps what was committed over every kind of stop', async () => {
      await using postgres = await start({ settings: { idle_in_transaction_session_timeout: '9s' } })
      const client = await session(postgres.url)
      expect((await client.query('show idle_in_transaction_session_timeout')).rows).toEqual([{ idle_in_transaction_session_timeout: '9s' }])
      await client.query('create table t (x int)')
      for (const [index, mode] of (['fast', 'immediate', 'kill'] as const).entries()) {
        await (await session(postgres.url)).query('insert into t values ($1)', [index])
        await postgres.stop(mode)
        await expect(session(postgres.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
        await postgres.start()
        expect((await (await session(postgres.url)).query('select x from t')).rows).toHaveLength(index + 1)
      }
    })

    it('freezes sessions that exist and connections to come', async () => {
      await using postgres = await start()
      const client = await session(postgres.url)
      await postgres.freeze()
      let done = false
      const query = client.query('select 1').then(() => { done = true })
      await expect(session(postgres.url, 1_000)).rejects.toThrow(/timeout/)
      expect(done).toBe(false)
      postgres.thaw()
      await query
      await postgres.freeze()
      await sleep(10)
    })
  })
}

describe('server', () => {
  it('reports one that is missing with the reason', () => {
    const saved = process.env.SCHED_TEST_POSTGRES_URL
    delete process.env.SCHED_TEST_POSTGRES_URL
    onTestFinished(() => { if (saved !== undefined) process.env.SCHED_TEST_POSTGRES_URL = saved })
    expect(server('postgres')).toMatchObject({ available: false })
  })
})
