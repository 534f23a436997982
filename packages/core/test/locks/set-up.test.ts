import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { describeServer, freshDatabase } from '@sched-dev/databases'
import { createLocks } from '../../src/locks/create-locks.ts'
import type { LocksOptions } from '../../src/locks/locks.ts'
import type { Finding } from '../../src/spi/probe.ts'
import { manualClock } from '../manual-clock.ts'
import { codeOf, describePlaces, describePostgres, describeTables, eventually, locksOn } from './places.ts'
import { scriptedServer } from './scripted-source.ts'

/** How long a statement on the lock table waits for a row. */
const rowLockMs = 1_000

const errorOf = (work: Promise<unknown>): Promise<Error> => work.then(() => { throw new Error('it did not reject') }, (error: unknown) => error as Error)

describe('options are checked when they are given', () => {
  const { source } = scriptedServer(manualClock(), 'session')
  const dialect = { spiVersion: 1, name: 'scripted', locks: source, close: async () => {} } as const
  it.each<[string, Partial<LocksOptions> & object, string, RegExp]>([
    ['no database', { dialect: undefined as never }, 'SCHED_OPTION_INVALID', /neither dialect nor url.*exactly one/],
    ['two databases', { url: 'sqlite:x' }, 'SCHED_OPTION_INVALID', /both dialect and url/],
    ['a dialect that is none', { dialect: {} as never }, 'SCHED_OPTION_INVALID', /dialect/],
    ['a short lease', { leaseMs: 999 }, 'SCHED_OPTION_INVALID', /leaseMs is 999: expected .* at least 1000/],
    ['a lease that is no number', { leaseMs: Number.NaN }, 'SCHED_OPTION_INVALID', /leaseMs is NaN/],
    ['a slow heartbeat', { leaseMs: 10_000, heartbeatMs: 4501 }, 'SCHED_OPTION_INVALID', /leaseMs 10000 less the safety margin 1000 is 9000, which is below two heartbeats of 4501.*heartbeatMs 4500 or less/],
    ['a heartbeat of 0', { heartbeatMs: 0 }, 'SCHED_OPTION_INVALID', /heartbeatMs is 0/],
    ['a fraction of a waiter', { maxWaiting: 1.5 }, 'SCHED_OPTION_INVALID', /maxWaiting is 1.5/],
    ['no locks at all', { maxLocks: 0 }, 'SCHED_OPTION_INVALID', /maxLocks is 0/],
    ['no time to open', { openMs: 0 }, 'SCHED_OPTION_INVALID', /openMs is 0/],
    ['a namespace with capitals', { namespace: 'Billing' }, 'SCHED_NAMESPACE_INVALID', /"Billing"/],
  ])('%s', (_, options, code, message) => {
    try {
      createLocks({ dialect, ...options })
    } catch (error) {
      expect(error).toMatchObject({ code })
      expect((error as Error).message).toMatch(message)
      return
    }
    throw new Error('it was accepted')
  })

  it('a URL without a scheme, without repeating what may be a password', () => {
    for (const url of ['host/db?password=hunter2', 'locktable+:x', '']) {
      try { createLocks({ url }) } catch (error) {
        expect(error).toMatchObject({ code: 'SCHED_DIALECT_UNKNOWN' })
        expect(inspect(error)).not.toContain('hunter2')
        continue
      }
      throw new Error(`${url} was accepted`)
    }
  })

  it('names and waits when they are used, before anything is opened', async () => {
    const server = scriptedServer(manualClock(), 'session')
    const locks = createLocks({ dialect: { ...dialect, locks: server.source } })
    expect(await codeOf(locks.tryAcquire(''))).toBe('SCHED_LOCK_NAME_INVALID')
    expect(await codeOf(locks.acquire('a\0b'))).toBe('SCHED_LOCK_NAME_INVALID')
    expect(await codeOf(locks.inspect('x'.repeat(256)))).toBe('SCHED_LOCK_NAME_INVALID')
    for (const waitMs of [-1, Infinity, Number.NaN]) expect(await codeOf(locks.acquire('a', { waitMs }))).toBe('SCHED_OPTION_INVALID')
    expect(server.connections).toHaveLength(0)
    await locks.close()
  })
})

describe('P11: what the probe refuses is refused at the first use, with code, reason and way out', () => {
  const refuse: Finding = { level: 'refuse', code: 'SCHED_UNSAFE_CLUSTER', message: 'this is a cluster.', remedy: 'Use a lock table.' }
  const warn: Finding = { level: 'warn', code: 'SCHED_UNSAFE_LIMIT', message: 'the limit is low.', remedy: 'Raise it.' }
  const withFindings = (findings: () => Finding[], poolLimit?: number): { dialect: LocksOptions['dialect']; probes: () => number } => {
    const { source } = scriptedServer(manualClock(), 'session')
    let probes = 0
    const locks = Object.assign(Object.create(source) as typeof source, { probe: async () => { probes += 1; return { product: 'X', version: '1', scope: 'x', sharedSessions: false, capabilities: source.capabilities, findings: findings(), poolLimit } } })
    return { dialect: { spiVersion: 1, name: 'scripted', locks, close: async () => {} }, probes: () => probes }
  }

  it('by every call, and looked at again by the next', async () => {
    let findings = [refuse]
    const { dialect, probes } = withFindings(() => findings)
    const locks = locksOn({ url: '' }, { dialect: dialect! })
    const error = await errorOf(locks.tryAcquire('a'))
    expect(error).toMatchObject({ code: 'SCHED_UNSAFE_CLUSTER', remedy: 'Use a lock table.', retryable: false })
    expect(error.message).toBe('SCHED_UNSAFE_CLUSTER: this is a cluster. Use a lock table.')
    expect(await codeOf(locks.acquire('a'))).toBe('SCHED_UNSAFE_CLUSTER')
    expect(await codeOf(locks.inspect('a'))).toBe('SCHED_UNSAFE_CLUSTER')
    findings = []
    expect((await locks.tryAcquire('a')).status).toBe('acquired')
    expect(probes()).toBe(4)
  })

  it('P12: a pool that lends less than a session for attempts and maxWaiting for waiters is told, with the arithmetic', async () => {
    const told: string[] = []
    const onEvent: LocksOptions['onEvent'] = (event) => { if (event.kind === 'lock.warning') told.push(event.finding.message) }
    for (const [poolLimit, maxWaiting] of [[5, 4], [4, 3], [4, 4]] as const) {
      const locks = locksOn({ url: '' }, { dialect: withFindings(() => [], poolLimit).dialect!, maxWaiting, onEvent })
      await locks.tryAcquire('a')
    }
    expect(told).toEqual([expect.stringContaining('1 (heartbeat and attempts) + 4 (maxWaiting, acquires that wait in the server) = 5 connections at once, and the pool lends 4')])
  })

  it('a warning is told once, and twenty first uses at once are one probe', async () => {
    const { dialect, probes } = withFindings(() => [warn, warn])
    const locks = locksOn({ url: '' }, { dialect: dialect! })
    await Promise.all(Array.from({ length: 20 }, (_, index) => locks.tryAcquire(`n${index}`)))
    expect(probes()).toBe(1)
    expect(locks.events).toEqual([{ kind: 'lock.warning', finding: warn }])
  })

  it('more locks than the server bears, fencing without a store, tables without a store', async () => {
    const { dialect } = withFindings(() => [])
    expect((await errorOf(locksOn({ url: '' }, { dialect: dialect!, maxLocks: 101 }).tryAcquire('a'))).message).toMatch(/maxLocks is 101: expected at most 100/)
    expect(await codeOf(locksOn({ url: '' }, { dialect: dialect!, fencing: true }).tryAcquire('a'))).toBe('SCHED_CAPABILITY_MISSING')
    expect(await codeOf(locksOn({ url: '' }, { dialect: dialect!, tables: {} }).tryAcquire('a'))).toBe('SCHED_OPTION_INVALID')
  })
})

describePlaces((place) => {
  it('P10: maxLocks is a typed error, and held locks stay', async () => {
    const locks = locksOn(place, { maxLocks: 3 })
    const leases = await Promise.all(['a', 'b', 'c'].map((name) => locks.acquire(name, { waitMs: 0 })))
    expect(await codeOf(locks.tryAcquire('d'))).toBe('SCHED_LOCK_LIMIT')
    expect(await codeOf(locks.acquire('d', { waitMs: 100 }))).toBe('SCHED_LOCK_LIMIT')
    for (const lease of leases) expect(lease.signal.aborted).toBe(false)
    await leases[0]!.release()
    expect((await locks.tryAcquire('d')).status).toBe('acquired')
  })
})

describeTables((place) => {
  it('P10: the lock table is made by ten at once; it is not made where it must not be; its loss is no refusal', async () => {
    const without = await errorOf(locksOn(place, { migrate: false }).tryAcquire('a'))
    expect(without).toMatchObject({ code: 'SCHED_SCHEMA_MISSING' })
    expect(without.message).toMatch(/CREATE TABLE/)
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, index) => locksOn(place).tryAcquire(`boot ${index}`)))
    expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'acquired'))
    const locks = locksOn(place, { migrate: false })
    expect((await locks.tryAcquire('there')).status).toBe('acquired')
    await place.query('drop table sched_locks')
    expect(await codeOf(locks.tryAcquire('gone'))).toBe('SCHED_TABLE_MISSING')
    expect(await codeOf(locks.acquire('gone', { waitMs: 100 }))).toBe('SCHED_TABLE_MISSING')
  })

  it('tables may have a prefix of their own, and then another namespace', async () => {
    const [here, there] = [locksOn(place), locksOn(place, { tables: { prefix: 'other_' } })]
    expect((await here.tryAcquire('same')).status).toBe('acquired')
    expect((await there.tryAcquire('same')).status).toBe('acquired')
    expect(await place.query('select lock_name from other_locks')).toHaveLength(1)
  })
})

describePostgres((place) => {
  it('a lock table that another session has to itself is waited for by the first lock', async () => {
    await locksOn(place).tryAcquire('made')
    await place.query('begin')
    await place.query('lock table sched_locks in access exclusive mode')
    const attempt = locksOn(place).tryAcquire('first')
    await Promise.race([attempt, sleep(2 * rowLockMs)])
    await place.query('commit')
    expect((await attempt).status).toBe('acquired')
  })
}, true)

describeServer('postgres', (server) => {
  it('P10: wrong port, password, database: typed, in time, never "refused", and no credentials anywhere', async () => {
    const wrong = (change: (url: URL) => void): string => { const url = new URL(server.url); url.password = 'hunter2'; change(url); return url.href }
    const cases: [string, string][] = [
      [wrong((url) => { url.port = '1' }), 'SCHED_DATABASE_UNREACHABLE'],
      [wrong((url) => { url.hostname = 'nowhere.invalid' }), 'SCHED_DATABASE_UNREACHABLE'],
      [wrong(() => undefined), 'SCHED_AUTHENTICATION'],
      [wrong((url) => { url.password = new URL(server.url).password; url.pathname = '/no_such_database' }), 'SCHED_AUTHENTICATION'],
    ]
    for (const prefix of ['', 'locktable+']) {
      for (const [url, code] of cases) {
        const locks = locksOn({ url: prefix + url })
        for (const attempt of [locks.tryAcquire('a'), locks.acquire('a', { waitMs: 50 }), locks.inspect('a'), locks.with('a', () => undefined)].map(errorOf)) {
          const error = await attempt
          expect(error).toMatchObject({ code })
          expect((error as { remedy?: string }).remedy).toBeTruthy()
          const shown = inspect(error, { depth: 10 }) + JSON.stringify(error) + String(error.stack)
          expect(shown).not.toContain('hunter2')
          expect(shown).not.toContain(new URL(server.url).password)
        }
        await locks.close()
      }
    }
  }, 60_000)
})

describeServer('pgbouncer-transaction', (server) => {
  it('P11: native locks behind a transaction pooler are refused: code, reason, way out; the lock table works there', async () => {
    const error = await errorOf(locksOn({ url: server.url }).tryAcquire('a'))
    expect(error).toMatchObject({ code: 'SCHED_UNSAFE_POOLER', retryable: false })
    expect(error.message).toMatch(/pool/i)
    expect((error as { remedy?: string }).remedy).toMatch(/session pooling|direct|lock table/i)
    const tables = { prefix: `p${process.pid % 10_000}_` }
    const [here, there] = [locksOn({ url: `locktable+${server.url}` }, { tables }), locksOn({ url: `locktable+${server.url}` }, { tables })]
    const lease = await here.acquire('a', { waitMs: 0 })
    expect(await there.tryAcquire('a')).toEqual({ status: 'refused' })
    expect(await lease.release()).toEqual({ status: 'released' })
    expect((await there.tryAcquire('a')).status).toBe('acquired')
  })
})

describeServer('pgbouncer-session', (server) => {
  it('P11: session pooling is fine', async () => {
    await using database = await freshDatabase(server.url)
    const [here, there] = [locksOn(database), locksOn(database)]
    const lease = await here.acquire('a', { waitMs: 0 })
    expect(await there.tryAcquire('a')).toEqual({ status: 'refused' })
    const waiting = there.acquire('a', { waitMs: 5000 })
    await lease.release()
    expect(await (await waiting).release()).toEqual({ status: 'released' })
    await here.close()
    await there.close()
    await eventually(() => true)
  })
})
