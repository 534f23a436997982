import { describe, expect, it } from 'vitest'
import { SchedError } from '../../src/errors.ts'
import { errorClassOf } from '../../src/session/classified-error.ts'
import { GuardedSession } from '../../src/session/guarded-session.ts'
import { safetyMarginMs } from '../../src/session/safety-margin.ts'
import type { ErrorClass } from '../../src/spi/error-class.ts'
import { manualClock, settle } from '../manual-clock.ts'

interface Raw { readonly id: number; destroyed: number; lose(cause: Error): void; destroy(): void; onLost(callback: (cause: Error) => void): void }

function scene(): { clock: ReturnType<typeof manualClock>; raw: Raw; session: GuardedSession<Raw>; lost: Error[] } {
  const clock = manualClock()
  let callback: ((cause: Error) => void) | undefined
  const raw: Raw = { id: 7, destroyed: 0, lose: (cause) => callback?.(cause), destroy: () => { raw.destroyed += 1 }, onLost: (given) => { callback = given } }
  const session = new GuardedSession(raw, { clock, label: 'test', classify: (error) => (error as { as?: ErrorClass }).as ?? 'unknown' })
  const lost: Error[] = []
  session.onLost((cause) => lost.push(cause))
  return { clock, raw, session, lost }
}

const failing = (as: ErrorClass): Error => Object.assign(new Error('driver'), { as })
const limits = { deadlineMs: 1000 }
const outcome = (work: Promise<unknown>): Promise<string> => work.then((value) => `ok ${String(value)}`, (error: unknown) => error instanceof SchedError ? error.code : String(error))

describe('P3: one call at a time', () => {
  it('runs calls in the order they were made, whatever the one before did', async () => {
    const { session } = scene()
    const log: string[] = []
    const call = (name: string, fail: boolean): Promise<unknown> => session.exclusive(name, async () => {
      log.push(`${name} in`)
      await settle()
      log.push(`${name} out`)
      if (fail) throw failing('deadlock')
    }, limits)
    await Promise.allSettled([call('a', false), call('b', true), call('c', false)])
    expect(log).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out'])
    expect(session.lost).toBeUndefined()
  })
})

describe('P3: on doubt the session is destroyed', () => {
  it('a missed deadline destroys it, and whatever is queued is refused', async () => {
    const { session, raw, clock, lost } = scene()
    const hanging = outcome(session.exclusive('hang', () => new Promise(() => {}), limits))
    const queued = outcome(session.exclusive('next', async () => 1, { deadlineMs: 5000 }))
    await clock.advance(1000)
    expect(await hanging).toBe('SCHED_QUERY_TIMEOUT')
    expect(raw.destroyed).toBe(1)
    expect(lost).toHaveLength(1)
    expect(await outcome(session.exclusive('later', async () => 1, limits))).toBe('SCHED_QUERY_TIMEOUT')
    await clock.advance(5000)
    expect(await queued).toBe('SCHED_QUERY_TIMEOUT')
  })

  it('an abort in flight destroys it, an abort in the queue does not', async () => {
    const { session, raw } = scene()
    const first = Promise.withResolvers<number>()
    const inFlight = new AbortController()
    const inQueue = new AbortController()
    const running = outcome(session.exclusive('running', () => first.promise, limits))
    let began = false
    const queued = outcome(session.exclusive('queued', async () => { began = true }, { ...limits, signal: inQueue.signal }))
    inQueue.abort()
    expect(await queued).toBe('SCHED_ABORTED')
    expect(raw.destroyed).toBe(0)
    first.resolve(1)
    expect(await running).toBe('ok 1')
    await settle()
    expect(began).toBe(false)
    const aborted = session.exclusive('aborted', () => new Promise(() => {}), { ...limits, signal: inFlight.signal }).catch((error: unknown) => error)
    await settle()
    const own = new TypeError('mine')
    inFlight.abort(own)
    expect(await aborted).toBe(own)
    expect(raw.destroyed).toBe(1)
  })

  it.each<[ErrorClass, string, boolean]>([
    ['contended', 'SCHED_CONTENDED', true], ['deadlock', 'SCHED_DEADLOCK', true], ['serialization', 'SCHED_CONTENDED', true], ['permission', 'SCHED_PERMISSION', true],
    ['missing-table', 'SCHED_TABLE_MISSING', true], ['duplicate-key', 'SCHED_DUPLICATE_KEY', true], ['read-only', 'SCHED_READ_ONLY', true], ['resource-exhausted', 'SCHED_RESOURCE_EXHAUSTED', true],
    ['connection-lost', 'SCHED_SESSION_LOST', false], ['query-timeout', 'SCHED_QUERY_TIMEOUT', false], ['authentication', 'SCHED_AUTHENTICATION', false], ['unknown', 'SCHED_STATEMENT_FAILED', false],
  ])('P10: %s becomes %s; the session survives: %s', async (as, code, survives) => {
    const { session, raw } = scene()
    const cause = failing(as)
    const error: unknown = await session.exclusive('it', async () => { throw cause }, limits).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code, cause })
    expect(errorClassOf(error)).toBe(as)
    expect(raw.destroyed).toBe(survives ? 0 : 1)
  })
})

describe('P5: loss without a query', () => {
  it('is noticed by the driver’s event, told once, and told at once to whoever asks later', async () => {
    const { session, raw, lost } = scene()
    raw.lose(new Error('reset by peer'))
    raw.lose(new Error('again'))
    session.destroy(new Error('and again'))
    expect(lost).toHaveLength(1)
    expect(lost[0]).toMatchObject({ code: 'SCHED_SESSION_LOST' })
    let late: Error | undefined
    session.onLost((cause) => { late = cause })
    expect(late).toBe(lost[0])
    expect(await outcome(session.exclusive('it', async () => 1, limits))).toBe('SCHED_SESSION_LOST')
  })
})

describe('safetyMarginMs', () => {
  it.each([[1000, 0, 250], [2000, 0, 500], [4000, 0, 1000], [20_000, 0, 1000], [30_000, 0, 1500], [30_000, 500, 2000]])('lease %d, uncertainty %d: %d', (lease, uncertainty, margin) => {
    expect(safetyMarginMs(lease, uncertainty)).toBe(margin)
  })
})
