import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { describeServer, eventually } from '@sched-dev/databases'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Report } from '../src/report/report.ts'
import { runCommand } from './run-command.ts'
import { sqliteFile } from './sqlite-file.ts'
import { wellFormed } from './well-formed.ts'

const limitMs = 90_000
const secret = 'vEry-5ecret'
const broken = fileURLToPath(new URL('./fixtures/broken-dialect.ts', import.meta.url))

describe('sched-selftest', () => {
  it('exits 0 when every MUST holds: the report for people', async () => {
    const { code, out, error } = await runCommand(['--url', `sqlite:${sqliteFile(onTestFinished)}`, '--only', 'try,release', '--lease-ms', '1000'])
    expect({ code, error }).toEqual({ code: 0, error: '' })
    expect(out).toContain('PASSED')
    expect(out).toMatch(/12 ok, 0 failed \(0 MUST\), 0 not applicable, 0 skipped, of 12/)
  }, limitMs)

  it('prints JSON alone on the standard output, and writes the other reports to files', async () => {
    const file = sqliteFile(onTestFinished)
    const [junit, markdown] = [join(dirname(file), 'report.xml'), join(dirname(file), 'report.md')]
    const { code, out, error } = await runCommand(['--url', `sqlite:${file}`, '--only', 'OWN', '--lease-ms', '1000', '--json', '--junit', junit, '--markdown', markdown])
    expect(code).toBe(0)
    const report = JSON.parse(out) as Report
    expect(report).toMatchObject({ reportVersion: 1, verdict: 'passed', counts: { total: 5, executed: 5 }, probe: { product: 'SQLite' } })
    expect(error).toContain('PASSED')
    expect(wellFormed(readFileSync(junit, 'utf8')).filter(({ name }) => name === 'testcase')).toHaveLength(5)
    expect(readFileSync(markdown, 'utf8')).toContain('| OWN-03 | MUST | ok |')
  }, limitMs)

  it('exits 1 when a MUST fails, on a dialect that --dialect names', async () => {
    const { code, out } = await runCommand(['--url', `broken:${sqliteFile(onTestFinished)}`, '--dialect', broken, '--only', 'TRY-02', '--lease-ms', '1000'])
    expect(code).toBe(1)
    expect(out).toContain('FAIL TRY-02 MUST: a held lock is refused to every other connection')
    expect(out).toContain('another connection holds it')
    expect(out).toContain('FAILED')
  }, limitMs)

  it.each([['run', []], ['probe', ['probe']]] as const)('exits 2 when nobody answers, without the password: %s', async (_name, words) => {
    const port = await closedPort()
    const { code, out, error } = await runCommand([...words, '--url', `postgres://app:${secret}@127.0.0.1:${port}/shop?password=${secret}`, '--json'])
    expect(code).toBe(2)
    expect(JSON.parse(out)).toMatchObject({ verdict: 'unreachable', target: `postgres://127.0.0.1:${port}/shop`, cases: [] })
    expect(error).toContain('UNREACHABLE')
    expect(error).toContain('What to do:')
    expect(out + error).not.toContain(secret)
  }, limitMs)

  it.each([
    [[]], [['--url', 'sqlite:x.db', '--only', 'NOP-01']], [['--url', 'sqlite:x.db', '--frobnicate']], [['--url', `nodb://app:${secret}@h/x`]], [['--url', `not a url ${secret}`]],
    [['--url', 'sqlite:x.db', '--dialect', './no-such-module.js']],
  ])('exits 64 for %j', async (words) => {
    const { code, out, error } = await runCommand(words)
    expect({ code, out }).toEqual({ code: 64, out: '' })
    expect(error).toMatch(/^sched-selftest: /)
    expect(error).not.toContain(secret)
  }, limitMs)

  it('gives back what it has when it is interrupted', async () => {
    const file = sqliteFile(onTestFinished)
    const { code, out } = await runCommand(['--url', `sqlite:${file}`, '--lease-ms', '1000', '--json'], (kill) => {
      void eventually(() => hasTakenLocks(file), 40_000).then(() => kill('SIGINT'), () => kill('SIGKILL'))
    })
    expect(code).toBe(2)
    const report = JSON.parse(out) as Report
    expect(report.problems).toMatchObject([{ code: 'SELFTEST_INTERRUPTED' }])
    expect(report.counts.total).toBeGreaterThan(0)
    const database = new DatabaseSync(file)
    expect(database.prepare('SELECT name FROM sqlite_master').all()).toEqual([])
    database.close()
  }, limitMs)

  it('probes in a moment and changes nothing', async () => {
    const file = sqliteFile(onTestFinished)
    const { code, out } = await runCommand(['probe', '--url', `sqlite:${file}`])
    expect(code).toBe(0)
    expect(out).toMatch(/^SQLite 3\.\d+/)
    expect(out).toMatch(/round trip [\d.]+ ms/)
    const database = new DatabaseSync(file)
    expect(database.prepare('SELECT name FROM sqlite_master').all()).toEqual([])
    database.close()
  }, limitMs)
})

describeServer('pgbouncer-transaction', ({ url }) => {
  it('is refused: why, what to do instead, exit 1, and not a case run', async () => {
    const { code, out, error } = await runCommand(['--url', url, '--json'])
    expect(code).toBe(1)
    const report = JSON.parse(out) as Report
    expect(report).toMatchObject({ verdict: 'refused', cases: [], problems: [{ code: 'SCHED_UNSAFE_POOLER' }] })
    expect(error).toContain('REFUSED')
    expect(error).toContain('transaction pooler')
    expect(error).toMatch(/session pooling.*direct connection.*lock table/)
  }, limitMs)
})

describeServer('postgres', ({ url }) => {
  it('shows the password nowhere, whatever goes wrong', async () => {
    const wrong = new URL(url)
    wrong.password = secret
    wrong.pathname = '/no_such_database'
    const refused = await runCommand(['--url', wrong.href, '--json'])
    expect(refused.code).toBe(2)
    expect(JSON.parse(refused.out)).toMatchObject({ verdict: 'unreachable', problems: [{ code: 'SCHED_AUTHENTICATION' }] })
    const good = await runCommand(['--url', url, '--only', 'ERR,CON-05', '--json'])
    expect(good.code).toBe(0)
    for (const { out, error } of [refused, good]) {
      expect(out + error).not.toContain(secret)
      expect(out + error).not.toContain(new URL(url).password)
    }
  }, limitMs)

  it('ends sessions only when it may', async () => {
    const { code, out } = await runCommand(['--url', url, '--only', 'LOS-01,LOS-02,TRY-01', '--json'])
    expect(code).toBe(0)
    expect((JSON.parse(out) as Report).counts).toMatchObject({ ok: 1, skipped: 2 })
  }, limitMs)
})

/** Whether the run has taken a lock: the cases that take none have been executed before it. */
function hasTakenLocks(file: string): boolean {
  if (!existsSync(file)) return false
  const database = new DatabaseSync(file, { readOnly: true, timeout: 1_000 })
  try {
    const table = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'st_%locks'").get()
    return table !== undefined && database.prepare(`SELECT lock_name FROM "${String(table['name'])}"`).get() !== undefined
  } finally { database.close() }
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 1
}
