import { describe, expect, it } from 'vitest'
import { SchedError } from '../../src/errors.ts'
import { createLeaseSignal } from '../../src/locks/lease-signal.ts'

const over = new SchedError('SCHED_LOCK_LOST', 'over.')

describe('P5: a lease signal is judged at every look', () => {
  it('by aborted, reason and throwIfAborted, and the event follows in the same tick', () => {
    for (const look of [(signal: AbortSignal) => signal.aborted, (signal: AbortSignal) => signal.reason === over, (signal: AbortSignal) => { try { signal.throwIfAborted() } catch (error) { return error === over } return false }]) {
      let lost = undefined as SchedError | undefined
      const { signal } = createLeaseSignal(() => lost)
      let events = 0
      signal.addEventListener('abort', () => { events += 1 })
      expect(look(signal)).toBe(false)
      lost = over
      expect(look(signal)).toBe(true)
      expect(look(signal)).toBe(true)
      expect(events).toBe(1)
    }
  })

  it('works where the platform takes a signal', async () => {
    let lost = undefined as SchedError | undefined
    const { signal } = createLeaseSignal(() => lost)
    lost = over
    const target = new EventTarget()
    expect(signal instanceof AbortSignal).toBe(true)
    await expect(fetch('http://127.0.0.1:9', { signal })).rejects.toBe(over)
    target.addEventListener('x', () => {}, { signal })
  })

  it('stays good when the lease was not lost', () => {
    const { signal, judge } = createLeaseSignal(() => undefined)
    expect(judge()).toBeUndefined()
    expect(signal.aborted).toBe(false)
    expect(signal.reason).toBeUndefined()
    signal.throwIfAborted()
  })

  it('keeps its first reason', () => {
    const { signal, abort } = createLeaseSignal(() => undefined)
    abort(over)
    abort(new Error('another'))
    expect(signal.reason).toBe(over)
  })
})
