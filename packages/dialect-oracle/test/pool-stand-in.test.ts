import type { Dialect } from '@sched/core/spi'
import oracledb from 'oracledb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { poolConnector } from '../src/connect/pool-connector.ts'
import { oracle } from '../src/index.ts'
import { dialectOn } from '../src/oracle.ts'
import { driverStandIn } from './stand-in/driver-stand-in.ts'
import { OracleServerStandIn } from './stand-in/server-stand-in.ts'
import { errorOf, Ground, holdingOf, nameOf, requestFor } from './support/ground.ts'

async function poolOn(ground: Ground, poolMax = 8): Promise<oracledb.Pool> {
  const { user = 'app', password = 'stand-in-password' } = ground.server.options
  const pool = await oracledb.createPool({ user, password, connectString: `127.0.0.1:${ground.wire.port}/standin`, poolMin: 0, poolMax, poolIncrement: 1, queueTimeout: 2_000 })
  onTestFinished(async () => { await pool.close(0) })
  return pool
}

describe('stand-in at the wire: a pool of the real oracledb', () => {
  it('drops what it was lent instead of giving it back: no lock reaches the next borrower', async () => {
    const ground = await Ground.start()
    const pool = await poolOn(ground)
    const dialect = oracle({ pool })
    const connection = await dialect.locks.open('pulse', ground.openOptions())
    await dialect.locks.strategy.tryLock(connection, requestFor(nameOf('borrowed')))
    expect(pool.connectionsInUse).toBe(1)
    connection.destroy()
    await expect.poll(() => pool.connectionsOpen).toBe(0)
    await expect.poll(() => ground.server.userLocks.rows()).toHaveLength(0)
    await dialect.close()
  })

  it('has to: the driver itself gives what is closed with `drop` back, lock and all', async () => {
    const ground = await Ground.start()
    const pool = await poolOn(ground)
    const connection = await pool.getConnection()
    await connection.close({ drop: true })
    expect(pool.connectionsOpen).toBe(1) // when this fails the driver has learned to drop, and src/session/end-client.ts may rely on it
  })

  it('leaves the other borrowers of the pool alone', async () => {
    const ground = await Ground.start()
    const pool = await poolOn(ground)
    const dialect = oracle({ pool })
    for (let turn = 0; turn < 10; turn += 1) {
      const ours = await dialect.locks.open('pulse', ground.openOptions())
      const theirs = pool.getConnection()
      ours.destroy()
      const after = await pool.getConnection()
      for (const connection of [await theirs, after]) {
        await connection.execute('SELECT 1 AS one FROM DUAL')
        await connection.close()
      }
    }
    await dialect.close()
  })

  it('lends a connection to user code that cannot be closed by it, with the user\'s own settings', async () => {
    const ground = await Ground.start()
    const dialect: Dialect<oracledb.Connection> = oracle({ pool: await poolOn(ground) })
    const session = await dialect.store?.open('transaction', { ...ground.openOptions(), statementMs: 1_000, rowLockMs: 1_000, sharedSessions: false })
    expect(() => session?.client.close()).toThrow('SCHED_OPTION_INVALID')
    expect([...ground.server.sessions].at(-1)?.settings).toEqual([])
    session?.destroy()
    await dialect.close()
  })

  it('says that the pool has nothing to lend', async () => {
    const ground = await Ground.start()
    const pool = await poolOn(ground, 1)
    const dialect = oracle({ pool })
    const probe = await dialect.locks.probe(ground.openOptions())
    expect(probe.findings).toEqual(expect.arrayContaining([expect.objectContaining({ level: 'refuse', code: 'SCHED_UNSAFE_LIMIT' })]))
    expect([probe.poolLimit, (await dialect.store?.probe(ground.openOptions()))?.poolLimit]).toEqual([1, 1])
    const first = await dialect.locks.open('pulse', ground.openOptions())
    expect(dialect.locks.classify(await errorOf(dialect.locks.open('pulse', ground.openOptions())))).toBe('resource-exhausted')
    first.destroy()
    await dialect.close()
  })

  it('ends the sessions of a dialect that is closed, and never the pool', async () => {
    const ground = await Ground.start()
    const pool = await poolOn(ground)
    const dialect = oracle({ pool })
    await dialect.locks.open('pulse', ground.openOptions())
    await dialect.close()
    await expect.poll(() => ground.server.sessions.size).toBe(0)
    expect((await errorOf(dialect.locks.open('pulse', ground.openOptions()))).message).toContain('SCHED_STOPPED')
    const own = await pool.getConnection()
    await own.close()
  })
})

describe('stand-in at the surface of the driver: a pool', () => {
  it('gets nothing back either', async () => {
    const server = new OracleServerStandIn()
    onTestFinished(() => { server.close() })
    const driver = driverStandIn(server)
    const pool = driver.createPool({ user: 'app', password: 'stand-in-password', poolMax: 8 })
    const dialect = dialectOn(poolConnector(pool, async () => driver))
    const options = { signal: AbortSignal.timeout(20_000), leaseMs: 30_000, label: 'sched:stand-in:pool' }
    const connection = await dialect.locks.open('pulse', options)
    const request = requestFor(nameOf('kept'))
    await dialect.locks.strategy.tryLock(connection, request)
    expect(await dialect.locks.strategy.isHeld(connection, holdingOf(request))).toBe('mine')
    connection.destroy()
    await expect.poll(() => server.sessions.size).toBe(0)
    expect(pool.idle).toBe(0)
    expect(server.userLocks.rows()).toHaveLength(0)
  })
})
