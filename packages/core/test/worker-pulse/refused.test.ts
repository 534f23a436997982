import { describeServer } from '@sched-dev/databases'
import { sqlite } from '@sched/dialect-locktable/sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isSchedError, type ErrorCode } from '../../src/errors.ts'
import { createScheduler } from '../../src/executor/scheduler.ts'
import type { SchedulerOptions } from '../../src/executor/scheduler-options.ts'
import { systemClock } from '../../src/time/clock.ts'
import { emptyPostgres } from '../ledger/store-ground.ts'

function thrownBy(options: SchedulerOptions): unknown {
  try {
    createScheduler(options)
  } catch (error) {
    return error
  }
  throw new Error('it was accepted')
}

describe('what cannot cross a thread is refused when the scheduler is created', () => {
  const url = 'sqlite:./unused.db'

  it.each<[string, SchedulerOptions, RegExp]>([
    ['a dialect', { pulse: 'worker', dialect: sqlite({ file: 'unused.db' }) }, /pool.*url.*'main'/],
    ['a lock source', { pulse: 'worker', url, locks: sqlite({ file: 'unused.db' }).locks }, /lock source.*'main'/],
    ['a clock', { pulse: 'worker', url, clock: systemClock }, /clock.*'main'/],
    ['another word', { pulse: 'thread' as 'worker', url }, /'main' or 'worker'/],
  ])('P10: %s is SCHED_OPTION_INVALID, with the way out', (_, options, text) => {
    const error = thrownBy(options)
    expect(isSchedError(error, 'SCHED_OPTION_INVALID')).toBe(true)
    expect((error as Error).message).toMatch(text)
  })
})

/** Starts it on the given thread; the error that its caller gets. */
async function refusal(options: SchedulerOptions): Promise<{ code: ErrorCode; remedy: string | undefined; retryable: boolean; message: string }> {
  const scheduler = createScheduler({ signals: false, ...options }).task('job', { everyMs: 1_000 }, () => {})
  onTestFinished(() => scheduler.stop())
  const error: unknown = await scheduler.start().then(() => { throw new Error('it started') }, (thrown: unknown) => thrown)
  if (!isSchedError(error)) throw error
  const { code, remedy, retryable, message } = error
  return { code, remedy, retryable, message }
}

describeServer('postgres', ({ url }) => {
  it.each<[string, (parsed: URL) => void, ErrorCode]>([
    ['a wrong password', (parsed) => { parsed.password = 'hunter2' }, 'SCHED_AUTHENTICATION'],
    ['a server that is down', (parsed) => { parsed.port = '1' }, 'SCHED_DATABASE_UNREACHABLE'],
    ['a read-only database', (parsed) => { parsed.searchParams.set('options', '-c default_transaction_read_only=on') }, 'SCHED_UNSAFE_READ_ONLY'],
  ])('P10: %s is refused at start as with the pulse on the main thread', async (_, change, code) => {
    const parsed = new URL(url)
    change(parsed)
    const [worker, main] = await Promise.all([refusal({ url: parsed.href, pulse: 'worker' }), refusal({ url: parsed.href, pulse: 'main' })])
    expect(worker).toEqual(main)
    expect(worker.code).toBe(code)
    expect(worker.message).not.toContain('hunter2')
  }, 90_000)

  it('P10: what only the thread runs into has its code, its remedy and its cause', async () => {
    const store = await emptyPostgres(url)
    onTestFinished(() => store.end())
    // Each session finds another schema: the tables that the main thread made are not there for the thread.
    const parsed = new URL(store.address)
    parsed.searchParams.set('options', '-c search_path=pg_temp')
    const error = await refusal({ url: parsed.href, pulse: 'worker', namespace: 'test' })
    expect(error).toMatchObject({ code: 'SCHED_TABLE_MISSING', retryable: false, remedy: expect.stringContaining('migrate') as string })
  }, 90_000)
})
