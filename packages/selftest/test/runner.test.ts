import { setTimeout as sleep } from 'node:timers/promises'
import type { Dialect, LockSource } from '@sched/core/spi'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ConformanceCase } from '../src/case.ts'
import { needsSession } from '../src/facts.ts'
import { exitCode, type Report } from '../src/report/report.ts'
import { runConformance, type ConformanceOptions } from '../src/runner.ts'
import { altered, probing } from './mutants/alter.ts'
import { sqliteFile } from './sqlite-file.ts'

const testCase = (parts: Partial<ConformanceCase> & Pick<ConformanceCase, 'run'>): ConformanceCase => ({ id: 'TRY-99', group: 'try', level: 'MUST', title: 'made up by the test', budgetMs: 500, ...parts })

function fresh(): Dialect {
  const dialect = sqlite({ file: sqliteFile(onTestFinished) })
  onTestFinished(() => dialect.close())
  return dialect
}

const run = (dialect: Dialect, options: ConformanceOptions): Promise<Report> => runConformance(dialect, { leaseMs: 1_000, ...options })

describe('the runner', () => {
  it('passes when every MUST holds', async () => {
    const report = await run(fresh(), { cases: [testCase({ run: async () => undefined })] })
    expect(report).toMatchObject({ verdict: 'passed', counts: { total: 1, executed: 1, ok: 1, failed: 0 }, dialect: 'sqlite', lockType: 'locktable', probe: { product: 'SQLite' } })
    expect(exitCode(report)).toBe(0)
  })

  it('fails when a MUST fails, and says what and where', async () => {
    const report = await run(fresh(), { cases: [testCase({ run: async () => { throw new Error('no lock', { cause: new Error('no server') }) } })] })
    expect(report).toMatchObject({ verdict: 'failed', cases: [{ id: 'TRY-99', verdict: 'fail', failure: { message: 'no lock (because: no server)' } }] })
    expect(exitCode(report)).toBe(1)
  })

  it('passes when only a SHOULD fails, and still reports it', async () => {
    const report = await run(fresh(), { cases: [testCase({ level: 'SHOULD', run: async () => { throw new Error('slow') } })] })
    expect(report).toMatchObject({ verdict: 'passed', counts: { failed: 1, failedMust: 0 } })
  })

  it('fails when nothing was executed', async () => {
    const report = await run(fresh(), { cases: [testCase({ requires: needsSession, run: async () => undefined })] })
    expect(report).toMatchObject({ verdict: 'failed', counts: { executed: 0, notApplicable: 1 }, problems: [{ code: 'SELFTEST_NOTHING_EXECUTED' }] })
    expect(report.cases[0]?.reason).toBe('needs locks of a session (capability kind: session)')
    expect(exitCode(report)).toBe(1)
    expect(exitCode(await run(fresh(), { cases: [] }))).toBe(1)
  })

  it('runs the opposite where a capability is absent', async () => {
    const opposite = { title: 'the other side', run: async () => { throw new Error('not so') } }
    const report = await run(fresh(), { cases: [testCase({ requires: needsSession, opposite, run: async () => undefined })] })
    expect(report.cases[0]).toMatchObject({ variant: 'opposite', title: 'the other side', verdict: 'fail' })
  })

  it('skips what ends sessions until that is allowed, and says so', async () => {
    const killable = altered(fresh(), { diagnostics: () => ({ kill: async () => undefined }) })
    const cases = [testCase({ kills: true, run: async () => undefined })]
    expect((await run(killable, { cases })).cases[0]).toMatchObject({ verdict: 'skipped', reason: expect.stringContaining('--allow-kill') as string })
    expect((await run(killable, { cases, allowKill: true })).cases[0]?.verdict).toBe('ok')
  })

  it('ends a case at its deadline with the last step, and goes on', async () => {
    const hanging = altered(fresh(), { strategy: (real) => ({ tryLock: (connection, request) => (request.name.name.includes('hang') ? new Promise(() => undefined) : real.tryLock(connection, request)) }) })
    const report = await run(hanging, { cases: [
      testCase({ budgetMs: 0, run: async (context) => { await context.take(await context.open(), context.name('hang')) } }),
      testCase({ id: 'TRY-98', run: async (context) => { await context.take(await context.open(), context.name('fine')) } }),
    ] })
    expect(report.cases[0]).toMatchObject({ verdict: 'fail', failure: { message: expect.stringMatching(/did not end within \d+ ms; the last step was: tryLock "TRY-99\/1\/hang"/) as string } })
    expect(report.cases[1]?.verdict).toBe('ok')
  }, 20_000)

  it('gives back what a case has taken, and fails a case that leaves something', async () => {
    const forgetful = async (context: Parameters<ConformanceCase['run']>[0]): Promise<void> => { await context.take(await context.open(), context.name()) }
    expect((await run(fresh(), { cases: [testCase({ run: forgetful })] })).cases[0]?.verdict).toBe('ok')
    const leaking = altered(fresh(), { strategy: () => ({ release: async () => ({ status: 'released' }) }) })
    expect((await run(leaking, { cases: [testCase({ run: forgetful })] })).cases[0]).toMatchObject({ verdict: 'fail', failure: { message: expect.stringContaining('residue: 1 lock of sched:selftest-') as string } })
  }, 20_000)

  it('leaves no table behind', async () => {
    const dialect = fresh()
    await run(dialect, { cases: [testCase({ run: async (context) => { await context.take(await context.open(), context.name()) } })] })
    const session = await dialect.store!.open('store', { signal: new AbortController().signal, leaseMs: 30_000, label: 'test', statementMs: 5_000, rowLockMs: 100, sharedSessions: false })
    const { rows } = await session.run({ text: 'SELECT name FROM sqlite_master', params: [] })
    session.destroy()
    expect(rows).toEqual([])
  })

  it('reports what the probe refuses, with the way out', async () => {
    const finding = { level: 'refuse', code: 'SCHED_UNSAFE_POOLER', message: 'A pooler.', remedy: 'Go direct.' } as const
    const report = await run(probing(fresh(), (probe) => ({ ...probe, findings: [finding] })), {})
    expect(report).toMatchObject({ verdict: 'refused', problems: [{ code: 'SCHED_UNSAFE_POOLER', message: 'A pooler.', remedy: 'Go direct.' }], cases: [], probe: { product: 'SQLite' } })
    expect(exitCode(report)).toBe(1)
  })

  it('tells unreachable from broken', async () => {
    const dead = sqlite({ file: '/nowhere/at/all/test.db' })
    const report = await run(dead, {})
    await dead.close()
    expect(exitCode(report)).toBe(2)
    const odd = altered(fresh(), { source: () => ({ probe: async () => { throw new TypeError('x is not a function') } }) })
    expect(await run(odd, {})).toMatchObject({ verdict: 'broken', problems: [{ code: 'SELFTEST_BROKEN', message: 'x is not a function (class unknown)' }] })
  })

  it('stops when it is interrupted, after giving back', async () => {
    const interrupt = new AbortController()
    const cases = [testCase({ run: async () => { interrupt.abort(); await sleep(10) } }), testCase({ id: 'TRY-98', run: async () => undefined })]
    const report = await run(fresh(), { cases, signal: interrupt.signal })
    expect(report).toMatchObject({ verdict: 'broken', counts: { total: 1 }, problems: [{ code: 'SELFTEST_INTERRUPTED' }] })
    expect(exitCode(report)).toBe(2)
  })

  it('says what it cannot vouch for without diagnostics', async () => {
    const { locks } = fresh()
    const silent: LockSource = {
      lockType: locks.lockType, capabilities: locks.capabilities, strategy: locks.strategy, needsLockTable: true,
      probe: (options) => locks.probe(options), open: (purpose, options) => locks.open(purpose, options), classify: (error) => locks.classify(error),
    }
    const report = await run({ ...fresh(), locks: silent }, { cases: [testCase({ run: async () => undefined })] })
    expect(report.notes.join()).toContain('no diagnostics')
  })
})
