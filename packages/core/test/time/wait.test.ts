import { describe, expect, it } from 'vitest'
import { SchedError } from '../../src/errors.ts'
import { abortError, sleep, withDeadline } from '../../src/time/wait.ts'
import { manualClock, settle } from '../manual-clock.ts'

const late = (): Error => new SchedError('SCHED_QUERY_TIMEOUT', 'late.')
const outcome = (work: Promise<unknown>): Promise<string> => work.then((value) => `ok ${String(value)}`, (error: unknown) => (error as Error).message)

describe('sleep', () => {
  it('ends at its time, not before', async () => {
    const clock = manualClock()
    let done = false
    const sleeping = sleep(clock, 100).then(() => { done = true })
    await clock.advance(99)
    expect(done).toBe(false)
    await clock.advance(1)
    await sleeping
    expect(done).toBe(true)
  })

  it('rejects as soon as the signal aborts, and leaves no timer', async () => {
    const clock = manualClock()
    const { signal, abort } = abortable()
    const sleeping = outcome(sleep(clock, 100, signal))
    abort()
    expect(await sleeping).toMatch(/^SCHED_ABORTED/)
    expect(clock.timers).toBe(0)
    expect(await outcome(sleep(clock, 100, signal))).toMatch(/^SCHED_ABORTED/)
    expect(clock.timers).toBe(0)
  })

  it("throws the signal's own reason where it has one", () => {
    const controller = new AbortController()
    controller.abort(new TypeError('mine'))
    expect(abortError(controller.signal).message).toBe('mine')
  })
})

describe('withDeadline', () => {
  it('passes on what the work answers or throws, and leaves no timer', async () => {
    const clock = manualClock()
    expect(await outcome(withDeadline(clock, Promise.resolve(7), { deadlineMs: 10, onDeadline: late }))).toBe('ok 7')
    expect(await outcome(withDeadline(clock, Promise.reject(new Error('no')), { deadlineMs: 10, onDeadline: late }))).toBe('no')
    expect(clock.timers).toBe(0)
  })

  it('abandons at the deadline, once, before it rejects', async () => {
    const clock = manualClock()
    const abandoned: string[] = []
    const { signal, abort } = abortable()
    const waiting = outcome(withDeadline(clock, new Promise(() => {}), { deadlineMs: 10, signal, onDeadline: late, onAbandon: (reason) => { abandoned.push(reason.message) } }))
    await clock.advance(10)
    abort()
    await settle()
    expect(await waiting).toMatch(/late/)
    expect(abandoned).toHaveLength(1)
  })

  it('abandons on an abort, also one that came before', async () => {
    const clock = manualClock()
    const { signal, abort } = abortable()
    let abandoned = 0
    const options = { deadlineMs: 10, signal, onDeadline: late, onAbandon: () => { abandoned += 1 } }
    const waiting = outcome(withDeadline(clock, new Promise(() => {}), options))
    abort()
    expect(await waiting).toMatch(/^SCHED_ABORTED/)
    expect(await outcome(withDeadline(clock, new Promise(() => {}), options))).toMatch(/^SCHED_ABORTED/)
    expect(abandoned).toBe(2)
    expect(clock.timers).toBe(0)
  })
})

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
