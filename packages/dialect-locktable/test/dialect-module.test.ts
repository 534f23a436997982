import { join, resolve } from 'node:path'
import { existsSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { lockName, type Dialect, type LockConnection } from '@sched/core/spi'
import { lockTable, sched, sqlite } from '../src/index.ts'
import { sqlite as sqliteEntry } from '../src/sqlite/index.ts'
import { fileOfUrl } from '../src/sqlite/sqlite-url.ts'
import { temporaryDirectory } from './support/sqlite-place.ts'

const directory = temporaryDirectory()
afterAll(() => directory.remove())
const file = join(directory.path, 'module.db')
const options = { signal: new AbortController().signal, leaseMs: 2_000, label: 'test' }

describe('a URL of SQLite', () => {
  it.each([
    ['sqlite:./sched.db', './sched.db'], ['sqlite:sched.db', 'sched.db'], ['sqlite:../data/sched.db', '../data/sched.db'],
    ['sqlite:/var/lib/sched.db', '/var/lib/sched.db'], ['sqlite:///var/lib/sched.db', '/var/lib/sched.db'],
    ['sqlite:/a%20b/100%25.db', '/a b/100%.db'], ['SQLite:x.db', 'x.db'],
  ])('%s is the file %s', (url, path) => { expect(fileOfUrl(url)).toBe(path) })

  it.each(['sqlite:', 'sqlite://', 'sqlite://host/x.db', 'sqlite:x.db?mode=ro', 'sqlite:x.db#y', 'sqlite:100%.db', 'postgres://x/y', 'x.db'])('P11: %s is refused', (url) => {
    expect(() => fileOfUrl(url)).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID' }) as Error)
  })
})

describe('the dialect module', () => {
  it('makes the SQLite dialect from a URL without touching the file', async () => {
    expect(sched).toMatchObject({ spiVersion: 1, schemes: ['sqlite', 'dm', 'kingbase'] })
    const dialect = sched.create(`sqlite:${file}`)
    expect(dialect).toMatchObject({ spiVersion: 1, name: 'sqlite' })
    expect(existsSync(resolve(file))).toBe(false)
    await dialect.close()
    await dialect.close()
    expect(() => sched.create('sqlite::memory:')).toThrow(expect.objectContaining({ code: 'SCHED_OPTION_INVALID' }) as Error)
    expect(sqliteEntry).toBe(sqlite)
  })

  it.each(['dm://host/db', 'kingbase://host/db'])('P11: %s is known and says that it is not there yet', (url) => {
    expect(() => sched.create(url)).toThrow(expect.objectContaining({ code: 'SCHED_DIALECT_NOT_INSTALLED' }) as Error)
  })
})

describe('lockTable', () => {
  it('is the inner dialect with its locks in a table', async () => {
    const inner = sqlite({ file })
    let closed = 0
    const dialect = lockTable({ ...inner, close: async () => { closed += 1 } })
    expect(dialect.name).toBe('locktable+sqlite')
    expect(dialect.store).toBe(inner.store)
    expect(dialect.locks).toMatchObject({
      lockType: 'locktable', needsLockTable: true,
      capabilities: { kind: 'lease', boundedStaleness: true, serverSideWait: false, fencing: 'row', inspection: true, scope: 'host', clockUncertaintyMs: 0 },
    })
    expect('lock' in dialect.locks.strategy).toBe(false)
    await dialect.close()
    expect(closed).toBe(1)
  })

  it('reaches as far as the tables do, and trusts clocks no more than the inner dialect', () => {
    const inner = sqlite({ file })
    const clustered = { ...inner, name: 'galera', locks: { ...inner.locks, capabilities: { ...inner.locks.capabilities, scope: 'instance' as const, clockUncertaintyMs: 250 } } }
    expect(lockTable(clustered).locks.capabilities).toMatchObject({ scope: 'database', clockUncertaintyMs: 250 })
  })

  it('P11: refuses a dialect without a store', () => {
    const { locks } = sqlite({ file })
    const lockOnly: Dialect = { spiVersion: 1, name: 'redis', locks, close: async () => {} }
    expect(() => lockTable(lockOnly)).toThrow(expect.objectContaining({ code: 'SCHED_CAPABILITY_MISSING' }) as Error)
  })

  it('P10: cannot be opened without the name of its table', async () => {
    await expect(lockTable(sqlite({ file })).locks.open('pulse', options)).rejects.toMatchObject({ code: 'SCHED_OPTION_INVALID' })
  })

  it('P3: behind a transaction pooler every call is one transaction, elsewhere each statement commits itself', async () => {
    const inner = sqlite({ file })
    const log: string[] = []
    const dialect = lockTable({
      ...inner,
      store: {
        ...inner.store!,
        async open() {
          return {
            client: undefined as never,
            run: async ({ text }) => {
              log.push(text.split(' ')[0]!)
              return { rows: [], affected: 0 }
            },
            begin: async () => { log.push('begin') }, commit: async () => { log.push('commit') }, rollback: async () => { log.push('rollback') },
            ping: async () => {}, destroy: () => {},
          }
        },
      },
    })
    const { strategy } = dialect.locks
    const tables = { locks: 'locks', tasks: '', executions: '', nodes: '', meta: '' }
    const name = lockName('tests', 'user', 'pooled')
    const request = { name, owner: 'o', ownerLabel: 'l', leaseMs: 1 }
    const holding = { name, owner: 'o', fencingToken: 1 }
    const callsOn = async (connection: LockConnection): Promise<string> => {
      await strategy.tryLock(connection, request)
      await strategy.refresh(connection, [holding], 1)
      await strategy.release(connection, holding)
      await strategy.inspect(connection, name)
      await dialect.locks.diagnostics!.locks(connection, 'x')
      return log.splice(0).join(' ')
    }
    const shared = await dialect.locks.open('pulse', { ...options, tables, sharedSessions: true })
    expect(await callsOn(shared)).toBe('begin INSERT commit begin UPDATE SELECT commit begin UPDATE commit begin SELECT commit begin SELECT commit')
    expect(await callsOn(await dialect.locks.open('pulse', { ...options, tables }))).toBe('INSERT UPDATE SELECT UPDATE SELECT SELECT')
  })

  it('asks the inner source about sessions, on a connection of its own that does not stay', async () => {
    const inner = sqlite({ file })
    const log: string[] = []
    const asking: LockConnection = { id: 99, ping: async () => {}, destroy: () => log.push('destroyed') }
    const dialect = lockTable({
      ...inner,
      locks: {
        ...inner.locks,
        open: async () => asking,
        diagnostics: {
          sessions: async (connection, label) => { log.push(`${String(connection.id)} asks for ${label}`); return [7, 8] },
          locks: async () => 0,
          kill: async (_connection, id) => { log.push(`kill ${id}`) },
        },
      },
    })
    const { diagnostics } = dialect.locks
    const own = { id: 8, options } as unknown as LockConnection
    expect(await diagnostics!.sessions(own, 'x')).toEqual([7])
    await diagnostics!.kill!(own, 7)
    expect(log).toEqual(['99 asks for x', 'destroyed', 'kill 7', 'destroyed'])
    expect('kill' in sqlite({ file }).locks.diagnostics!).toBe(false)
    expect(await sqlite({ file }).locks.diagnostics!.sessions(own, 'x')).toEqual([])
  })
})
