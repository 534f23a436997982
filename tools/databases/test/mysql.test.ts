import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise'
import { expect, it, onTestFinished, vi } from 'vitest'
import { describePrivateMysql, describeServer, freshDatabase } from '../src/index.ts'
import { dropStaleDatabases } from '../src/fresh-database.ts'
import { serverVersion } from '../src/server-version.ts'

// On a busy machine a test of milliseconds takes seconds.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 20_000 } } })

async function session(url: string, connectTimeout = 20_000): Promise<Connection> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const connection = await createConnection({ host: hostname, port: Number(port), user: username, password, database: pathname.slice(1), connectTimeout })
  connection.on('error', () => {})
  onTestFinished(() => { connection.destroy() })
  return connection
}

describeServer(['mysql', 'mariadb', 'mariadb-oldest', 'galera-1', 'galera-2'], ({ name, url }) => {
  it('says what it is', async () => {
    expect(await serverVersion(url)).toMatch(name === 'mysql' ? /^MySQL \d+\.\d+\.\d+$/ : name.startsWith('galera') ? /^MariaDB 10\.11\.\d+, a node of a Galera cluster$/ : /^MariaDB \d+\.\d+\.\d+$/)
  })

  it('gives out databases that do not see each other, and drops them while in use', async () => {
    const [first, second] = await Promise.all([freshDatabase(url), freshDatabase(url)])
    const connection = await session(first.url)
    await connection.query('create table t (x int) engine=InnoDB')
    await connection.query('start transaction')
    await connection.query('insert into t values (1)')
    const other = await session(second.url)
    await expect(other.query('select * from t')).rejects.toMatchObject({ errno: 1146 })
    await Promise.all([first.drop(), second.drop()])
    await first.drop()
    await expect(connection.query('select 1')).rejects.toThrow()
    await dropStaleDatabases(url, 86_400_000)
    expect(await dropStaleDatabases(url, 86_400_000)).toBe(0)
  })
})

describeServer('galera-1', ({ url }) => {
  it('is a cluster of two', async () => {
    const [rows] = await (await session(url)).query<RowDataPacket[]>("show status like 'wsrep_cluster_size'")
    expect(rows[0]?.['Value']).toBe('2')
  })
})

describePrivateMysql(['mysql', 'mariadb', 'mariadb-oldest'], (start) => {
  it('keeps what was committed over every kind of stop, and knows zones', async () => {
    await using server = await start({ settings: { 'wait-timeout': 99 }, timeZone: 'Europe/London' })
    const connection = await session(server.url)
    await connection.query('create table t (x int) engine=InnoDB')
    const [zones] = await connection.query<RowDataPacket[]>("select @@global.wait_timeout as w, convert_tz('2026-07-01 12:00:00', 'Europe/London', 'America/New_York') as there")
    expect(zones).toMatchObject([{ w: 99, there: new Date(2026, 6, 1, 7) }])
    for (const [index, mode] of (['clean', 'kill'] as const).entries()) {
      await (await session(server.url)).query('insert into t values (?)', [index])
      await server.stop(mode)
      await expect(session(server.url)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
      await server.start()
      expect((await (await session(server.url)).query<RowDataPacket[]>('select x from t'))[0]).toHaveLength(index + 1)
    }
  }, 90_000)

  it('freezes sessions that exist and connections to come', async () => {
    await using server = await start()
    const connection = await session(server.url)
    await server.freeze()
    let done = false
    const query = connection.query('select 1').then(() => { done = true })
    await expect(session(server.url, 1_000)).rejects.toMatchObject({ code: 'ETIMEDOUT' })
    expect(done).toBe(false)
    server.thaw()
    await query
  })
})
