import { describe, expect, it } from 'vitest'
import { asksForPooledServer } from '../src/connect/connector.ts'
import { configOfUrl } from '../src/connect/url.ts'
import { oracle, sched } from '../src/index.ts'

describe('oracle:// URLs', () => {
  it.each([
    ['oracle://app:secret@db.example.com:1522/orders', { user: 'app', password: 'secret', connectString: 'db.example.com:1522/orders' }],
    ['oracle://app:secret@db.example.com/orders.example.com', { user: 'app', password: 'secret', connectString: 'db.example.com:1521/orders.example.com' }],
    ['oracle://a%40b:p%2Fw%23@[::1]:1521/FREEPDB1', { user: 'a@b', password: 'p/w#', connectString: '[::1]:1521/FREEPDB1' }],
    ['oracle://app:secret@db/orders:dedicated?connect_timeout=5', { user: 'app', password: 'secret', connectString: 'db:1521/orders:dedicated?connect_timeout=5' }],
  ])('%s', (url, config) => { expect(configOfUrl(url)).toEqual(config) })

  it.each([
    'postgres://a:b@c/d', 'oracle:', 'oracle://db/orders', 'oracle://app@db/orders', 'oracle://app:secret@db', 'oracle://app:secret@db/', 'oracle://app:sec@ret@db/a@b',
    'oracle://app:sec#ret@db/orders', 'oracle://app:secret@db/a/b', 'oracle://app:%zz@db/orders',
  ])('%s is refused, and never quoted', (url) => {
    expect(() => configOfUrl(url)).toThrow('SCHED_OPTION_INVALID')
    try { configOfUrl(url) } catch (error) { expect(String(error)).not.toContain('sec') }
  })

  it('are what the module answers to, without connecting', () => {
    expect(sched.schemes).toEqual(['oracle'])
    expect(sched.create('oracle://app:secret@db/orders').name).toBe('oracle')
    expect(() => sched.create('oracle://db')).toThrow('SCHED_OPTION_INVALID')
  })

  it('or a pool, or a configuration: exactly one', () => {
    expect(() => oracle({})).toThrow('none of the options')
    expect(() => oracle({ url: 'oracle://app:secret@db/orders', config: {} })).toThrow('exclude each other')
    expect(() => oracle({ pool: {} as never })).toThrow('getConnection')
  })

  it('that ask for a pooled server are recognised', () => {
    expect(asksForPooledServer('db:1521/orders:pooled')).toBe(true)
    expect(asksForPooledServer('(DESCRIPTION=(CONNECT_DATA=(SERVICE_NAME=a)(SERVER = POOLED)))')).toBe(true)
    expect(asksForPooledServer('db:1521/pooled')).toBe(false)
    expect(asksForPooledServer(undefined)).toBe(false)
  })
})
