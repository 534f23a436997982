import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import pg from 'pg'
import { describeServer } from '@sched-dev/databases'
import { postgres } from '../src/index.ts'
import { advisoryStrategy as locks } from '../src/locks/advisory-strategy.ts'
import { emptyDatabase, eventually, holding, onlooker, openLocks, openOptions, openStore, request } from './support/scene.ts'

function poolOf(url: string, options: pg.PoolConfig = {}): { pool: pg.Pool; errors: Error[] } {
  const pool = new pg.Pool({ connectionString: url, ...options })
  const errors: Error[] = []
  pool.on('error', (error) => { errors.push(error) })
  onTestFinished(async () => { if (!pool.ended) await pool.end() })
  return { pool, errors }
}

describeServer(['postgres', 'postgres-oldest'], ({ url: serverUrl }) => {
  it('closes what it borrowed from a pool of two, and gives nothing back (P3)', async () => {
    const url = await emptyDatabase(serverUrl)
    const { pool, errors } = poolOf(url, { max: 2 })
    const looker = await onlooker(url)
    const one = await openLocks({ pool }, { leaseMs: 2_000 })
    await locks.tryLock(one, request('a'))
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 0])
    one.destroy()
    await eventually(async () => pool.totalCount === 0)
    const other = await openLocks({ url })
    await eventually(async () => await locks.isHeld(other, holding('a')) === 'free')
    // A connection that had gone back would carry our limits, and end with them under the application.
    expect((await pool.query("select current_setting('lock_timeout') l, current_setting('application_name') a")).rows).toEqual([{ l: '0', a: '' }])
    await sleep(2_300)
    expect(errors).toEqual([])
    await eventually(async () => (await looker.query('select 1 from pg_stat_activity where pid = $1', [one.id])).rows.length === 0)
  })

  it('gives the pool its place back when the server has ended the session', async () => {
    const url = await emptyDatabase(serverUrl)
    const { pool, errors } = poolOf(url, { max: 2 })
    const [one, looker] = [await openLocks({ pool }), await onlooker(url)]
    await looker.query('select pg_terminate_backend($1)', [one.id])
    await eventually(async () => pool.totalCount === 0)
    one.destroy() // as the core does, later
    expect((await pool.query('select 1 as x')).rows).toEqual([{ x: 1 }])
    expect(errors).toEqual([])
    await pool.end()
  })

  it('does not take a client that was released in the middle of a transaction', async () => {
    const { pool } = poolOf(await emptyDatabase(serverUrl), { max: 2 })
    for (const statements of [['begin'], ['begin', 'select 1 / 0']]) {
      const client = await pool.connect()
      for (const statement of statements) await client.query(statement).catch(() => {})
      client.release()
      await expect(openLocks({ pool })).rejects.toMatchObject({ code: 'SCHED_SESSION_LOST', retryable: true, message: expect.stringContaining('middle of a transaction') as string })
      await eventually(async () => pool.totalCount === 0)
    }
    expect(await locks.tryLock(await openLocks({ pool }), request('a'))).toEqual({ status: 'granted' })
  })

  it('does not let user code release the client it was lent, with a transaction on it (P3, P8)', async () => {
    const url = await emptyDatabase(serverUrl)
    const { pool } = poolOf(url, { max: 1 })
    const session = await openStore(postgres({ pool }), 'transaction')
    expect(() => { session.client.release() }).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID' }) as Error)
    session.destroy()
    await eventually(async () => pool.totalCount === 0)
  })

  it('ends an opening that waits in the queue of a full pool, and the pool goes on', async () => {
    const { pool } = poolOf(await emptyDatabase(serverUrl), { max: 1 })
    const busy = await pool.connect()
    await expect(openLocks({ pool }, { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: 'TimeoutError' })
    busy.release()
    await eventually(async () => pool.totalCount === 0 && pool.waitingCount === 0)
    expect((await pool.query('select 1 as x')).rows).toEqual([{ x: 1 }])
  })

  it('refuses a pool that cannot work, and one it cannot read (P11), and tells the limit of others', async () => {
    const url = await emptyDatabase(serverUrl)
    const narrow = await postgres({ pool: poolOf(url, { max: 1 }).pool }).locks.probe(openOptions())
    expect(narrow.findings).toContainEqual(expect.objectContaining({ level: 'refuse', code: 'SCHED_UNSAFE_LIMIT' }))
    const small = await postgres({ pool: poolOf(url, { max: 2 }).pool }).locks.probe(openOptions())
    expect([small.poolLimit, small.findings.filter(({ code }) => code === 'SCHED_UNSAFE_LIMIT')]).toEqual([2, []])
    const { pool } = poolOf(url, { binary: true } as pg.PoolConfig)
    await expect(openLocks({ pool })).rejects.toMatchObject({ code: 'SCHED_OPTION_INVALID' })
  })

  it('leaves the parsers of the process as they are, and is not changed by them', async () => {
    const url = await emptyDatabase(serverUrl)
    const { pool } = poolOf(url, { max: 2, types: { getTypeParser: () => () => 'from the pool' } })
    const session = await openStore(postgres({ pool }), 'transaction')
    expect((await session.run({ text: 'SELECT 5::int8 AS n', params: [] })).rows).toEqual([{ n: 5 }])
    expect((await session.client.query('select 5::int8 n')).rows).toEqual([{ n: 'from the pool' }])
    session.destroy()
  })
})
