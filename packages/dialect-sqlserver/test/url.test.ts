import { describe, expect, expectTypeOf, it } from 'vitest'
import mssql from 'mssql'
import tedious from 'tedious'
import type { Dialect } from '@sched/core/spi'
import { sched, sqlserver, type LentPool, type MssqlPool, type TediousConfig, type TediousConnection } from '../src/index.ts'
import { configOfUrl } from '../src/connect/url.ts'

describe('a SQL Server URL', () => {
  it.each<[string, object, object]>([
    ['sqlserver://sa:secret@db.internal:1444/app?encrypt=false', { server: 'db.internal' }, { port: 1444, database: 'app', encrypt: false }],
    ['mssql://sa:p%40ss%2Fword@db/my%20app?encrypt=strict&trustServerCertificate=true', { server: 'db' }, { database: 'my app', encrypt: 'strict', trustServerCertificate: true }],
    ['SQLSERVER://sa@[::1]/app?instanceName=express&connectTimeout=5000&multiSubnetFailover=yes', { server: '::1' }, { database: 'app', instanceName: 'express', connectTimeout: 5_000, multiSubnetFailover: true }],
    ['sqlserver://sa:x@db', { server: 'db' }, {}],
    ['sqlserver://sa:x@db:80/app', { server: 'db' }, { port: 80, database: 'app' }],
  ])('is read without connecting: %s', (url, place, options) => {
    expect(sched.create(url)).toMatchObject({ spiVersion: 1, name: 'sqlserver' })
    const config = configOfUrl(url)
    expect(config).toMatchObject(place)
    expect(config.options).toEqual(options)
  })

  it('gives user and password as they are', () => {
    expect(configOfUrl('mssql://s%C3%A4:p%40ss%2Fword@db').authentication).toEqual({ type: 'default', options: { userName: 'sä', password: 'p@ss/word' } })
  })

  it.each([
    'mysql://user:hunter2@localhost/app', 'user:hunter2@localhost', '', 'sqlserver:user:hunter2', 'sqlserver://user:hunter2@host:port/app', 'sqlserver://user:hun/ter2@host/app', 'sqlserver://user:hun#ter2@host/app',
    'sqlserver://user:1?hunter2@host/app', 'sqlserver://user:hun@hunter2/x@host/app', 'sqlserver://user:hunter2%@host/app', 'sqlserver://user:hunter2@a,b/app', 'sqlserver://user:hunter2@host/app/more',
    'sqlserver://host:1433;databaseName=app;user=sa;password=hunter2', 'sqlserver://user:hunter2@host/app?encrypt=maybe', 'sqlserver://user:hunter2@host/app?password=hunter2', 'sqlserver://user:hunter2@host:1/app?instanceName=x',
    'sqlserver://host/app', 'sqlserver://user:hunter2@host/app?connectTimeout=soon', 'sqlserver://user:hunter2@host/app?__proto__=1', 42, undefined, null,
  ])('is refused at once with a typed error that does not quote it (P10, P11): %s', (url) => {
    const create = (): unknown => sched.create(url as string)
    expect(create).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID', message: expect.stringContaining('sqlserver://user:password@host') as string }) as Error)
    expect(create).not.toThrow(/hun|ter2/)
  })

  it('is found by its schemes', () => { expect(sched.schemes).toEqual(['sqlserver', 'mssql']) })
})

describe('the options', () => {
  const pool = { acquire: () => {}, release: () => {}, request: () => {} }
  it.each<[object, string]>([
    [{ url: 'sqlserver://sa@host', pool }, 'exclude each other'], [{}, 'no database'], [{ config: 'x' }, 'no object'], [{ config: {} }, 'names no server'], [{ url: 5 }, 'is a number'],
    [{ pool: {} }, 'cannot pin a connection'], [{ pool: { ...pool, begin: () => {} } }, 'it is a transaction'], [{ pool: null }, 'cannot pin a connection'],
  ])('are checked at once: %o', (options, message) => {
    expect(() => sqlserver(options as never)).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID', message: expect.stringContaining(message) as string }) as Error)
  })

  it('take the drivers as they are, and hand their clients to ctx.transaction under their own types', () => {
    expectTypeOf(sqlserver({ url: 'sqlserver://sa@host' })).toEqualTypeOf<Dialect<TediousConnection>>()
    expectTypeOf(sqlserver<tedious.Connection>({ url: 'sqlserver://sa@host' })).toEqualTypeOf<Dialect<tedious.Connection>>()
    expectTypeOf<tedious.Connection>().toExtend<TediousConnection>()
    expectTypeOf<tedious.ConnectionConfiguration>().toExtend<TediousConfig>()
    expectTypeOf<mssql.ConnectionPool>().toExtend<MssqlPool>()
    expectTypeOf<LentPool<mssql.ConnectionPool>['request']>().returns.toEqualTypeOf<mssql.Request>()
    expectTypeOf(sqlserver({ pool: new mssql.ConnectionPool({ server: 'host' }) })).toEqualTypeOf<Dialect<LentPool<mssql.ConnectionPool>>>()
  })
})
