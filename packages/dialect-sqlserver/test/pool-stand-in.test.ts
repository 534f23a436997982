import mssql from 'mssql'
import { expect, it, onTestFinished } from 'vitest'
import { classifySqlServer } from '../src/errors/classify.ts'
import { sqlserver } from '../src/index.ts'
import { applockDiagnostics } from '../src/locks/applock-diagnostics.ts'
import { applockStrategy as locks } from '../src/locks/applock-strategy.ts'
import { fragments } from '../src/store/fragments.ts'
import { eventually, holding, openLocks, openOptions, openStore, request, startStandIn } from './support/scene.ts'
import type { TdsServerStandIn } from './stand-in/tds-server-stand-in.ts'

async function poolOf(standIn: TdsServerStandIn, max = 2): Promise<mssql.ConnectionPool> {
  const { port, options } = standIn
  const pool = new mssql.ConnectionPool({
    server: '127.0.0.1', port, user: 'sched', password: options.accounts['sched']!.password, database: options.database, options: { encrypt: false }, pool: { max, min: 0, acquireTimeoutMillis: 2_000 },
  })
  pool.on('error', () => {}) // what fails rejects as well
  await pool.connect()
  onTestFinished(async () => { await pool.close() })
  return pool
}

it('a pool of mssql on the TDS stand-in: what was borrowed is pinned, closed in the end, and never lent again (P3)', async () => {
  const standIn = await startStandIn()
  const pool = await poolOf(standIn)
  const one = await openLocks({ pool })
  expect(await locks.tryLock(one, request('a'))).toEqual({ status: 'granted' })
  expect(await locks.isHeld(one, holding('a'))).toBe('mine')
  expect(pool.borrowed).toBe(1)
  one.destroy()
  await eventually(() => standIn.applocks.rows().length === 0)
  const { recordset: [row] } = await pool.request().query<{ id: number; open: number }>('SELECT @@SPID AS id, @@TRANCOUNT AS [open]')
  expect(Number(row?.id)).not.toBe(one.id)
  expect(pool.borrowed).toBe(0)
})

it('a pool of mssql on the TDS stand-in: its sessions are found by their label although it logged in under another name', async () => {
  const standIn = await startStandIn()
  const [pool, label] = [await poolOf(standIn), 'sched:test:host:77']
  const one = await openLocks({ pool }, { label })
  await locks.tryLock(one, request('a'))
  const asking = await openLocks({ url: standIn.url })
  expect(await applockDiagnostics.sessions(asking, label)).toEqual([one.id])
  expect(await applockDiagnostics.locks(asking, label)).toBe(1)
  expect(await applockDiagnostics.sessions(asking, `${label}8`)).toEqual([])
})

it('a pool of mssql on the TDS stand-in: ctx.transaction gets requests of mssql on the connection of the transaction (P8)', async () => {
  const standIn = await startStandIn()
  const pool = await poolOf(standIn)
  const session = await openStore(sqlserver({ pool }), 'transaction')
  await session.run({ text: fragments.createTable('[t]', 'n bigint'), params: [] })
  await session.begin()
  await session.client.request().input('n', mssql.BigInt, 5).query('INSERT INTO [t] (n) VALUES (@n)')
  const { recordset } = await session.client.request().query<{ id: number }>('SELECT @@SPID AS id')
  expect(Number(recordset[0]?.id)).toBe(session.id)
  expect(pool.borrowed).toBe(1)
  expect((await pool.request().query<{ n: number }>('SELECT COUNT(*) AS n FROM [t]')).recordset).toEqual([{ n: '0' }]) // mssql gives bigint as text
  await session.commit()
  expect((await pool.request().query<{ n: number }>('SELECT COUNT(*) AS n FROM [t]')).recordset).toEqual([{ n: '1' }])
})

it('a pool of mssql on the TDS stand-in: a connection with an open transaction on it is not taken', async () => {
  const standIn = await startStandIn()
  const pool = await poolOf(standIn, 1)
  await pool.request().query('SELECT 1 AS one')
  // As code that lost track of its transaction leaves it: the connection is given back in the middle.
  const transaction = pool.transaction() as mssql.Transaction & { _acquiredConnection: unknown }
  await transaction.begin()
  ;(pool as unknown as { release(connection: unknown): void }).release(transaction._acquiredConnection)
  await expect(openLocks({ pool })).rejects.toMatchObject({ code: 'SCHED_SESSION_LOST', retryable: true })
  expect(await locks.tryLock(await openLocks({ pool }), request('a'))).toEqual({ status: 'granted' })
})

it('a pool of mssql on the TDS stand-in: a full one is resource-exhausted, a closed one connection-lost; too small a one is refused (P11)', async () => {
  const standIn = await startStandIn()
  const pool = await poolOf(standIn, 1)
  await openLocks({ pool })
  expect(classifySqlServer(await openLocks({ pool }).catch((error: unknown) => error))).toBe('resource-exhausted')
  const closed = new mssql.ConnectionPool({ server: '127.0.0.1' })
  closed.on('error', () => {})
  expect(classifySqlServer(await openLocks({ pool: closed }).catch((error: unknown) => error))).toBe('connection-lost')
  const small = await sqlserver({ pool: await poolOf(standIn, 1) }).locks.probe(openOptions())
  expect(small.findings).toContainEqual(expect.objectContaining({ level: 'refuse', code: 'SCHED_UNSAFE_LIMIT' }))
  expect(small.poolLimit).toBe(1)
})

it('what is no pool of mssql on tedious is refused with the reason', async () => {
  const pool = { acquire: (_requester: object, answer: (error: null, connection: unknown) => void) => { answer(null, { query: () => {} }) }, release: () => {}, request: () => {} }
  await expect(openLocks({ pool })).rejects.toMatchObject({ code: 'SCHED_OPTION_INVALID', message: expect.stringContaining('not of tedious') as string })
})
