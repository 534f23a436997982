import { describe, expect, expectTypeOf, it } from 'vitest'
import callbackApi from 'mysql2'
import promiseApi from 'mysql2/promise'
import type { Dialect } from '@sched/core/spi'
import { mysql, sched, type MysqlPromiseConnection } from '../src/index.ts'
import { readUrl } from '../src/connect/url.ts'

describe('a MySQL URL', () => {
  it.each([
    ['mysql://localhost', { host: 'localhost', port: 3306 }],
    ['mariadb://u:p%40ss%2Fword@db.internal:3307/my%20app', { host: 'db.internal', port: 3307, user: 'u', password: 'p@ss/word', database: 'my app' }],
    ['MySQL://u@[::1]:80/app', { host: '::1', port: 80, user: 'u', database: 'app' }],
    ['mysql://u@h/app?ssl-mode=VERIFY_IDENTITY&connectTimeout=500', { host: 'h', port: 3306, user: 'u', database: 'app', connectTimeout: 500, ssl: { rejectUnauthorized: true, verifyIdentity: true } }],
    ['mysql://u@h/app?ssl-mode=required', { host: 'h', port: 3306, user: 'u', database: 'app', ssl: { rejectUnauthorized: false } }],
    ['mysql://u@h/app?ssl-mode=DISABLED&socketPath=/run/my.sock', { host: 'h', port: 3306, user: 'u', database: 'app', socketPath: '/run/my.sock' }],
  ])('is read without connecting: %s', (url, config) => {
    expect(readUrl(url)).toEqual(config)
    expect(sched.create(url)).toMatchObject({ spiVersion: 1, name: 'mysql' })
  })

  it.each([
    'postgres://user:hunter2@localhost/app', 'user:hunter2@localhost', '', 'mysql:user:hunter2', 'mysql://user:hunter2@host:port/app',
    'mysql://user:hun/ter2@host/app', 'mysql://user:hun#ter2@host/app', 'mysql://user:12#hunter2@host/app', 'mysql://user:1?hunter2@host/app',
    'mysql://user:hun@hunter2/x@host/app', 'mysql://user:hunter2%@host/app', 'mysql://user:hunter2@a,b:1,c/app', 'mysql://user:hunter2@host/app/more',
    'mysql://user:hunter2@host/app?ssl-mode=PREFERRED', 'mysql://user:hunter2@host/app?multipleStatements=true', 'mysql://user:hunter2@host/app?connectTimeout=0', 42, undefined, null,
  ])('P10, P11: is refused at once with a typed error that does not quote it: %s', (url) => {
    const create = (): unknown => sched.create(url as string)
    expect(create).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID', message: expect.stringContaining('mysql://user:password@host') as string }) as Error)
    expect(create).not.toThrow(/hun|ter2/)
  })

  it('is found by its schemes', () => { expect(sched.schemes).toEqual(['mysql', 'mariadb']) })
})

describe('the options', () => {
  it.each([
    [{ url: 'mysql://localhost', pool: { getConnection: () => {} } }, 'exclude each other'],
    [{ pool: {} }, 'no pool of mysql2'], [{ config: 'x' }, 'no object'], [{ url: 5 }, 'is a number'], [{}, 'none of the options'],
  ])('P10: are checked at once: %o', (options, message) => {
    expect(() => mysql(options as never)).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID', message: expect.stringContaining(message) as string }) as Error)
  })

  it('take the driver as it is, and hand its connection to ctx.transaction under its own type', async () => {
    const [byCallback, byPromise] = [callbackApi.createPool({}), promiseApi.createPool({})]
    expectTypeOf(mysql({ pool: byPromise })).toEqualTypeOf<Dialect<promiseApi.PoolConnection>>()
    expectTypeOf(mysql({ pool: byCallback })).toEqualTypeOf<Dialect<callbackApi.PoolConnection>>()
    expectTypeOf(mysql({ url: 'mysql://localhost' })).toEqualTypeOf<Dialect<MysqlPromiseConnection>>()
    expectTypeOf(mysql<promiseApi.Connection>({ config: { host: 'localhost' } satisfies promiseApi.ConnectionOptions })).toEqualTypeOf<Dialect<promiseApi.Connection>>()
    byCallback.end()
    await byPromise.end()
  })
})
