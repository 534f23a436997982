import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import pg from 'pg'
import { describePrivatePostgres, describeServer } from '@sched-dev/databases'
import type { LockProbe } from '@sched/core/spi'
import { postgres } from '../src/index.ts'
import { engineOf } from '../src/probe/engine.ts'
import { emptyDatabase, eventually, onlooker, openOptions } from './support/scene.ts'

const refusals = ({ findings }: Pick<LockProbe, 'findings'>): string[] => findings.filter(({ level }) => level === 'refuse').map(({ code }) => code)

describeServer(['postgres', 'postgres-middle', 'pgbouncer-session'], ({ url: serverUrl }) => {
  it('finds a safe set-up safe, with locks that the server ends (P11)', async () => {
    const url = await emptyDatabase(serverUrl)
    const database = new URL(url).pathname.slice(1)
    const dialect = postgres({ url })
    const probe = await dialect.locks.probe(openOptions())
    expect(probe).toMatchObject({
      product: 'PostgreSQL', scope: `${database}/public`, sharedSessions: false,
      capabilities: { kind: 'session', boundedStaleness: true, serverSideWait: true, fencing: 'none', inspection: true, scope: 'database', clockUncertaintyMs: 0 },
    })
    expect(refusals(probe)).toEqual([])
    expect(probe.version).toMatch(/^\d+\.\d+$/)
    expect(refusals(await dialect.store!.probe(openOptions()) as LockProbe)).toEqual([])
  })
})

// Not through PgBouncer: what it keeps idle on the server, and how many, is its own affair.
describeServer(['postgres', 'postgres-middle'], ({ url: serverUrl }) => {
  it('leaves no connection behind, nor when it is aborted', async () => {
    const url = await emptyDatabase(serverUrl)
    const looker = await onlooker(url)
    await postgres({ url }).locks.probe(openOptions())
    for (const ms of [0, 3, 8, 15]) {
      await postgres({ url }).locks.probe(openOptions({ signal: AbortSignal.timeout(ms) })).catch((error: unknown) => { expect(error).toMatchObject({ name: 'TimeoutError' }) })
    }
    await eventually(async () => (await looker.query("select 1 from pg_stat_activity where datname = current_database() and backend_type = 'client backend'")).rows.length <= 1)
  })
})

describeServer('postgres-oldest', ({ url: serverUrl }) => {
  it('knows that version 13 cannot end a frozen holder, and says so (P6, P11)', async () => {
    const url = await emptyDatabase(serverUrl)
    const probe = await postgres({ url }).locks.probe(openOptions())
    expect(probe.capabilities.boundedStaleness).toBe(false)
    expect(refusals(probe)).toEqual([])
    expect(probe.findings).toContainEqual(expect.objectContaining({ level: 'warn', code: 'SCHED_CAPABILITY_MISSING' }))
    expect(probe.version).toMatch(/^13\./)
  })
})

describeServer('pgbouncer-transaction', ({ url: serverUrl }) => {
  it('refuses advisory locks behind a transaction pooler every time, and names the ways out (P11)', async () => {
    const url = await emptyDatabase(serverUrl)
    for (let tries = 0; tries < 10; tries++) {
      const probe = await postgres({ url }).locks.probe(openOptions())
      expect(probe.sharedSessions).toBe(true)
      expect(refusals(probe)).toEqual(['SCHED_UNSAFE_POOLER'])
      expect(probe.findings.find(({ code }) => code === 'SCHED_UNSAFE_POOLER')?.remedy).toMatch(/session pooling.*direct connection.*lock table/)
    }
  })

  it('accepts the ledger there, and says that sessions are shared', async () => {
    const probe = await postgres({ url: await emptyDatabase(serverUrl) }).store!.probe(openOptions())
    expect(probe).toMatchObject({ sharedSessions: true, product: 'PostgreSQL' })
    expect(probe.findings.filter(({ level }) => level === 'refuse')).toEqual([])
  })

  it('finds it out with a pool of two as well', async () => {
    const pool = new pg.Pool({ connectionString: await emptyDatabase(serverUrl), max: 2 })
    const probe = await postgres({ pool }).locks.probe(openOptions())
    expect(probe.sharedSessions).toBe(true)
    await pool.end()
  })
})

describePrivatePostgres('newest', (start) => {
  it('warns of what loses rows, ends idle sessions or leaves too few connections (P1, P11)', async () => {
    await using server = await start({ settings: { fsync: 'off', synchronous_commit: 'off', idle_session_timeout: '10min', max_connections: 12 } })
    const dialect = postgres({ url: server.url })
    const probe = await dialect.store!.probe(openOptions())
    expect(probe.findings.map(({ level, code }) => [level, code])).toEqual([
      ['warn', 'SCHED_UNSAFE_LIMIT'], ['warn', 'SCHED_UNSAFE_ENGINE'], ['warn', 'SCHED_UNSAFE_ENGINE'], ['warn', 'SCHED_UNSAFE_LIMIT'],
    ])
    expect(probe.findings.map(({ message }) => message).join('\n')).toMatch(/9 connections[^]*fsync[^]*synchronous_commit[^]*10min/)
    expect((await dialect.locks.probe(openOptions())).capabilities.maxLocks).toBe(48) // a sixteenth of 64 × 12
  }, 60_000)

  it('refuses a role or a database that may only read (P11)', async () => {
    await using server = await start()
    const looker = await onlooker(server.url)
    await looker.query('create role reader login')
    await looker.query('alter role reader set default_transaction_read_only = on')
    await looker.query('alter role reader connection limit 3')
    const url = new URL(server.url)
    url.username = 'reader'
    await looker.query("alter role reader password 'reader'")
    url.password = 'reader'
    const probe = await postgres({ url: url.href }).locks.probe(openOptions())
    expect(refusals(probe)).toEqual(['SCHED_UNSAFE_READ_ONLY'])
    expect(probe.findings.find(({ code }) => code === 'SCHED_UNSAFE_LIMIT')?.message).toContain('3 connections')
    expect(refusals(await postgres({ url: url.href }).store!.probe(openOptions()) as LockProbe)).toEqual(['SCHED_UNSAFE_READ_ONLY'])
  }, 60_000)

  it('refuses a standby: its locks exclude nobody (P11)', async () => {
    await using server = await start()
    await server.stop('fast')
    writeFileSync(join(server.folder, 'data', 'standby.signal'), '')
    // Says "ready to accept read-only connections", which `start` does not take for a start; it rejects when the server is disposed of.
    server.start().catch(() => {})
    const probe = await eventually(() => postgres({ url: server.url }).locks.probe(openOptions()).catch(() => undefined), 20_000)
    if (probe === undefined) throw new Error('unreachable')
    expect(refusals(probe)).toEqual(['SCHED_UNSAFE_READ_ONLY'])
    expect(probe.findings[0]?.message).toContain('standby')
  }, 60_000)
})

describe('a server that speaks the protocol but is no PostgreSQL (P11)', () => {
  it.each([
    ['PostgreSQL 18.6 (Debian 18.6-3) on x86_64-pc-linux-gnu, compiled by gcc', 'PostgreSQL', '18.6', [], []],
    ['PostgreSQL 19beta1 on aarch64-apple-darwin', 'PostgreSQL', '19beta1', [], []],
    ['CockroachDB CCL v24.1.3 (x86_64-pc-linux-gnu, built 2024/08/01)', 'CockroachDB', '24.1.3', ['refuse'], ['warn']],
    ['PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu', 'YugabyteDB', '2.20.1.0', ['refuse'], ['warn']],
    ['KingbaseES V008R006C008B0014 on x86_64-pc-linux-gnu', 'KingbaseES', '008R006C008B0014', ['refuse'], ['warn']],
    ['(openGauss 5.0.0 build a07d57c3) compiled at 2023-03-29', 'openGauss', '5.0.0', ['refuse'], ['refuse']],
    ['PostgreSQL 17.4 on x86_64-pc-linux-gnu, compiled by emcc (Emscripten gcc/clang-like replacement)', 'PGlite', '17.4', ['refuse'], ['refuse']],
    ['SomethingElse 1.0', 'unknown', '(version unknown)', ['refuse'], ['refuse']],
  ])('is named, and its advisory locks are refused: %s', (text, product, version, locks, store) => {
    const engine = engineOf(text)
    expect(engine).toMatchObject({ product, version, genuine: product === 'PostgreSQL' })
    expect(engine.findings.locks.map(({ level }) => level)).toEqual(locks)
    expect(engine.findings.store.map(({ level }) => level)).toEqual(store)
    for (const finding of [...engine.findings.locks, ...engine.findings.store]) expect(finding).toMatchObject({ code: 'SCHED_UNSAFE_ENGINE', remedy: expect.stringMatching(/\.$/) as string })
  })
})
