import { describe, expect, expectTypeOf, it } from 'vitest'
import pg from 'pg'
import type { Dialect } from '@sched/core/spi'
import { postgres, sched, type PgClient } from '../src/index.ts'

describe('a PostgreSQL URL', () => {
  it.each([
    'postgres://user:pass@localhost/app', 'postgresql://localhost', 'postgres://u@[::1]:5433/app?sslmode=require',
    'postgres:///app?host=/var/run/postgresql', 'postgres://u:p%40ss%2Fword@db.internal:5432/my%20app', 'POSTGRES://localhost/app',
  ])('is taken without connecting: %s', (url) => {
    expect(sched.create(url)).toMatchObject({ spiVersion: 1, name: 'postgres' })
  })

  it.each([
    'mysql://user:hunter2@localhost/app', 'user:hunter2@localhost', '', 'postgres:user:hunter2', 'postgres://user:hunter2@host:port/app',
    'postgres://user:hun/ter2@host/app', 'postgres://user:hun#ter2@host/app', 'postgres://user:12#hunter2@host/app', 'postgres://user:1?hunter2@host/app',
    'postgres://user:hun@hunter2/x@host/app', 'postgres://user:hunter2%@host/app', 'postgres://user:hunter2@a,b/app', 'postgres://user:hunter2@a:1,b:2/app',
    'postgres://user:hunter2@host/app/more', 42, undefined, null,
  ])('is refused at once with a typed error that does not quote it (P10, P11): %s', (url) => {
    const create = (): unknown => sched.create(url as string)
    expect(create).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID', message: expect.stringContaining('postgres://user:password@host') as string }) as Error)
    expect(create).not.toThrow(/hun|ter2/)
  })

  it('is found by its schemes', () => { expect(sched.schemes).toEqual(['postgres', 'postgresql']) })
})

describe('the options', () => {
  it.each([
    [{ url: 'postgres://localhost', pool: { connect: async () => { throw new Error('not called') } } }, 'exclude each other'],
    [{ pool: {} }, 'no pg.Pool'], [{ config: 'x' }, 'no object'], [{ url: 5 }, 'is a number'],
  ])('are checked at once: %o', (options, message) => {
    expect(() => postgres(options as never)).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID', message: expect.stringContaining(message) as string }) as Error)
  })

  it('take the driver as it is, and hand its client to ctx.transaction under its own type', () => {
    const pool = new pg.Pool()
    expectTypeOf(postgres({ pool })).toEqualTypeOf<Dialect<pg.PoolClient>>()
    expectTypeOf(postgres({ url: 'postgres://localhost' })).toEqualTypeOf<Dialect<PgClient>>()
    expectTypeOf(postgres<pg.Client>({ config: { host: 'localhost' } satisfies pg.ClientConfig })).toEqualTypeOf<Dialect<pg.Client>>()
    expectTypeOf<pg.Client>().toExtend<PgClient>()
  })
})
