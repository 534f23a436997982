import { randomUUID } from 'node:crypto'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { describeServer, freshDatabase } from '@sched-dev/databases'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { postgres } from '@sched/dialect-postgres'
import { createScheduler, type Scheduler } from '../../src/executor/scheduler.ts'
import { isSchedError, type ErrorCode } from '../../src/errors.ts'

// A start makes tables, asks name servers and waits for what does not answer.
vi.setConfig({ testTimeout: 90_000 })

const never = (): void => {}

/** Everything a person could see of an error: message, stack, causes, details. */
function shown(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const more = error instanceof AggregateError ? error.errors.map(shown).join('\n') : ''
  return [error.message, error.stack, JSON.stringify(error, Object.getOwnPropertyNames(error)), more, error.cause === undefined ? '' : shown(error.cause)].join('\n')
}

/** Starts it, and expects a refusal with this code, a remedy, and none of the secrets in it. */
async function refused(scheduler: Scheduler, code: ErrorCode, secrets: readonly string[] = []): Promise<Error> {
  onTestFinished(() => scheduler.stop())
  const error: unknown = await scheduler.start().then(() => { throw new Error('it started') }, (thrown: unknown) => thrown)
  expect(isSchedError(error) ? error.code : error).toBe(code)
  expect((error as { remedy?: string }).remedy).toMatch(/\w/)
  for (const secret of secrets) expect(shown(error)).not.toContain(secret)
  return error as Error
}

const task = (scheduler: Scheduler): Scheduler => scheduler.task('job', { everyMs: 1_000 }, never)

describe('what is wrong is said at the earliest moment', () => {
  const scheduler = (): Scheduler => createScheduler({ dialect: sqlite({ file: ':unused:.db' }) })

  it.each<[string, ErrorCode, string, () => unknown]>([
    ['a name twice', 'SCHED_TASK_DUPLICATE', 'job', () => task(task(scheduler()))],
    ['a cron that is none', 'SCHED_CRON_SYNTAX', '61 * * * *', () => scheduler().task('job', { cron: '61 * * * *' }, never)],
    ['a cron that never fires', 'SCHED_CRON_NEVER', '0 0 31 2 *', () => scheduler().task('job', { cron: '0 0 31 2 *' }, never)],
    ['an unknown zone', 'SCHED_TIME_ZONE_UNKNOWN', 'Europe/Nowhere', () => scheduler().task('job', { cron: '0 3 * * *', timeZone: 'Europe/Nowhere' }, never)],
    ['an interval too short', 'SCHED_OPTION_INVALID', '10', () => scheduler().task('job', { everyMs: 10 }, never)],
    ['no schedule', 'SCHED_OPTION_INVALID', '', () => scheduler().task('job', {}, never)],
    ['two schedules', 'SCHED_OPTION_INVALID', '', () => scheduler().task('job', { everyMs: 1_000, cron: '* * * * *' }, never)],
    ['no handler', 'SCHED_OPTION_INVALID', 'handler', () => scheduler().task('job', { everyMs: 1_000 }, undefined as never)],
    ['an empty name', 'SCHED_TASK_NAME_INVALID', '""', () => scheduler().task('', { everyMs: 1_000 }, never)],
    ['a name with NUL', 'SCHED_TASK_NAME_INVALID', 'a\\u0000b', () => scheduler().task('a\0b', { everyMs: 1_000 }, never)],
    ['a timeout of 0', 'SCHED_OPTION_INVALID', 'timeoutMs', () => scheduler().task('job', { everyMs: 1_000, timeoutMs: 0 }, never)],
    ['a heartbeat too long for the lease', 'SCHED_OPTION_INVALID', 'heartbeatMs', () => createScheduler({ dialect: sqlite({ file: 'x.db' }), leaseMs: 2_000, heartbeatMs: 1_000 })],
    ['a lease below a second', 'SCHED_OPTION_INVALID', 'leaseMs', () => createScheduler({ dialect: sqlite({ file: 'x.db' }), leaseMs: 500 })],
    ['neither dialect nor url', 'SCHED_OPTION_INVALID', 'exactly one of', () => createScheduler({})],
    ['a namespace that is none', 'SCHED_NAMESPACE_INVALID', 'Bad Namespace', () => createScheduler({ dialect: sqlite({ file: 'x.db' }), namespace: 'Bad Namespace' })],
  ])('P10: %s is %s, naming the value', (_, code, text, build) => {
    let thrown: unknown
    try { build() } catch (error) { thrown = error }
    expect(isSchedError(thrown) ? thrown.code : thrown).toBe(code)
    expect((thrown as Error).message).toContain(text)
    expect(shown(thrown)).not.toContain('hunter2')
  })

  it('P10: a scheme nobody answers says what to install, and shows no password', async () => {
    const error = await refused(task(createScheduler({ url: 'oracel://admin:hunter2@host/db', signals: false })), 'SCHED_DIALECT_UNKNOWN', ['hunter2'])
    expect(error.message).toContain('@sched/dialect-oracel')
    await refused(task(createScheduler({ url: 'admin:hunter2@host/db', signals: false })), 'SCHED_DIALECT_UNKNOWN', ['hunter2'])
  })

  it('P10: a database file in a directory that is not there, or that is a directory, is unreachable', async () => {
    await refused(task(createScheduler({ dialect: sqlite({ file: `${tmpdir()}/no-such-directory-of-sched/x.db` }), signals: false })), 'SCHED_DATABASE_UNREACHABLE')
    await refused(task(createScheduler({ dialect: sqlite({ file: tmpdir() }), signals: false })), 'SCHED_DATABASE_UNREACHABLE')
  })

  it('P10: a server that is down is unreachable, and the password is not shown', async () => {
    // Nobody listens there, and nobody else is given it.
    const url = 'postgres://admin:hunter2@127.0.0.1:1/app'
    await refused(task(createScheduler({ dialect: postgres({ url }), signals: false })), 'SCHED_DATABASE_UNREACHABLE', ['hunter2'])
    await refused(task(createScheduler({ url, signals: false })), 'SCHED_DATABASE_UNREACHABLE', ['hunter2'])
  })

  it('P10: a server that accepts and says nothing is given up, and the password is not shown', async () => {
    const mute = createServer((socket) => { socket.on('error', never) })
    const port = await new Promise<number>((resolve) => mute.listen(0, '127.0.0.1', () => { resolve((mute.address() as { port: number }).port) }))
    onTestFinished(() => { mute.close() })
    const error = await refused(task(createScheduler({ url: `postgres://admin:hunter2@127.0.0.1:${port}/app`, signals: false })), 'SCHED_DATABASE_UNREACHABLE', ['hunter2'])
    expect(error.message).toContain('10000 ms')
  })

  it('P10: a host that does not exist is unreachable', async () => {
    await refused(task(createScheduler({ url: 'postgres://admin:hunter2@no-such-host.invalid:5432/app', signals: false })), 'SCHED_DATABASE_UNREACHABLE', ['hunter2'])
  })
})

describeServer('postgres', ({ url }) => {
  const changed = (change: (parsed: URL) => void): string => {
    const parsed = new URL(url)
    change(parsed)
    return parsed.href
  }

  it('P10: a wrong password, a wrong user and a missing database are refused as what they are', async () => {
    const wrong = changed((parsed) => { parsed.password = 'hunter2%40x' })
    await refused(task(createScheduler({ url: wrong, signals: false })), 'SCHED_AUTHENTICATION', ['hunter2'])
    await refused(task(createScheduler({ dialect: postgres({ url: wrong }), signals: false })), 'SCHED_AUTHENTICATION', ['hunter2'])
    await refused(task(createScheduler({ url: changed((parsed) => { parsed.username = 'nobody_here' }), signals: false })), 'SCHED_AUTHENTICATION', [new URL(url).password])
    await refused(task(createScheduler({ url: changed((parsed) => { parsed.pathname = '/no_such_database' }), signals: false })), 'SCHED_AUTHENTICATION', [new URL(url).password])
  })

  it('P10: after a refusal the same scheduler can be started again', async () => {
    await using database = await freshDatabase(url)
    const scheduler = task(createScheduler({ url: database.url, migrate: false, signals: false }))
    onTestFinished(() => scheduler.stop())
    const error: unknown = await scheduler.start().catch((thrown: unknown) => thrown)
    expect(isSchedError(error, 'SCHED_SCHEMA_MISSING')).toBe(true)
    expect((error as Error).message).toMatch(/CREATE TABLE[^]*sched_executions/)
    const creator = task(createScheduler({ url: database.url, signals: false }))
    await creator.start()
    await creator.stop()
    await scheduler.start()
    await scheduler.stop()
  })

  it('P10: an account that may not create tables is told what it lacks, and works on tables that are there', async () => {
    await using database = await freshDatabase(url)
    const admin = new pg.Client({ connectionString: database.url })
    await admin.connect()
    const role = database.name
    const password = randomUUID()
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`)
    try {
      await admin.query(`REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
      const limited = new URL(database.url)
      limited.username = role
      limited.password = password
      const scheduler = (more: { migrate?: boolean }): Scheduler => task(createScheduler({ url: limited.href, signals: false, ...more }))
      const error = await refused(scheduler({}), 'SCHED_PERMISSION', [password])
      expect(error.message).toMatch(/sched migrate --print/)
      const owner = task(createScheduler({ url: database.url, signals: false }))
      await owner.start()
      await owner.stop()
      await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${role}`)
      const allowed = scheduler({ migrate: false })
      await allowed.start()
      await allowed.stop()
    } finally {
      await admin.query(`DROP OWNED BY ${role}`)
      await admin.query(`DROP ROLE ${role}`)
      await admin.end()
    }
  })

  it('P11: a read-only database is refused with the way out', async () => {
    await using database = await freshDatabase(url)
    const readOnly = `${database.url}?options=${encodeURIComponent('-c default_transaction_read_only=on')}`
    await refused(task(createScheduler({ url: readOnly, signals: false })), 'SCHED_UNSAFE_READ_ONLY', [new URL(url).password])
  })
})
