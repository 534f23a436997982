import { describe, expect, it } from 'vitest'
import { SchedError, isSchedError } from '../../src/errors.ts'
import { LeaseMemory } from '../../src/worker-pulse/lease-memory.ts'
import { Liveness, LivenessWatch } from '../../src/worker-pulse/liveness.ts'
import { SharedLife } from '../../src/worker-pulse/shared-life.ts'
import { fromWire, toWire } from '../../src/worker-pulse/wire-error.ts'
import { manualClock } from '../manual-clock.ts'

describe('an error that crosses a thread', () => {
  it('P10: keeps code, message, remedy, details and causes', () => {
    const cause = Object.assign(new Error('connection refused', { cause: new AggregateError([new Error('one')], 'several') }), { code: 'ECONNREFUSED' })
    const error = new SchedError('SCHED_DATABASE_UNREACHABLE', 'nothing answered.', { remedy: 'Look at the port.', retryable: false, details: { errorClass: 'connection-lost', deadlineMs: 5, odd: () => {} }, cause })
    const crossed = fromWire(structuredClone(toWire(error)))
    expect(isSchedError(crossed, 'SCHED_DATABASE_UNREACHABLE')).toBe(true)
    expect(crossed).toMatchObject({ message: error.message, remedy: 'Look at the port.', retryable: false, details: { errorClass: 'connection-lost', deadlineMs: 5 }, stack: error.stack })
    expect(crossed.cause).toMatchObject({ message: 'connection refused', code: 'ECONNREFUSED', cause: { message: 'several', errors: [{ message: 'one' }] } })
  })

  it('P10: ends with a chain of causes that is endless', () => {
    const error = new Error('round and round')
    error.cause = error
    expect(fromWire(toWire(error)).message).toBe('round and round')
  })
})

describe('the memory of a lease', () => {
  it('P5: is judged by the larger of both clocks, and a wall clock that was set back lengthens nothing', () => {
    const clock = manualClock()
    const memory = new LeaseMemory()
    memory.extend(clock, 1_000)
    expect(new LeaseMemory(memory.buffer).leftMs(clock)).toBeCloseTo(1_000, 1)
    clock.shiftWall(-5_000)
    expect(memory.leftMs(clock)).toBeLessThanOrEqual(1_000)
    clock.shiftWall(5_000 + 999)
    expect(memory.leftMs(clock)).toBeLessThanOrEqual(1)
  })

  it('P5: keeps the first reason of a loss, however long it is, and gives it to the other thread', () => {
    const memory = new LeaseMemory()
    memory.lose(new SchedError('SCHED_LEASE_LOST', 'x'.repeat(10_000), { remedy: 'Do this.' }))
    memory.lose(new SchedError('SCHED_STOPPED', 'later.'))
    const { lost } = new LeaseMemory(memory.buffer)
    expect(lost).toMatchObject({ code: 'SCHED_LEASE_LOST', remedy: 'Do this.' })
    const unlucky = new LeaseMemory()
    unlucky.lose(new SchedError('SCHED_LOCK_LOST', '\u{1F600}'.repeat(5_000), { remedy: 'y'.repeat(5_000) }))
    expect(unlucky.lost).toBeDefined()
  })

  it('P5: a life that either side calls lost is lost on both, for good', () => {
    const clock = manualClock()
    const memory = new LeaseMemory()
    memory.extend(clock, 1_000)
    const life = new SharedLife(clock, memory, 'node', 1_000)
    const other = new LeaseMemory(memory.buffer)
    expect(life.judge()).toBeUndefined()
    other.lose(new SchedError('SCHED_LEASE_LOST', 'said over there.'))
    const reason = life.judge()
    expect(reason?.message).toContain('said over there')
    other.extend(clock, 60_000)
    expect(life.judge()).toBe(reason)

    const second = new LeaseMemory()
    second.extend(clock, 1_000)
    const overdue = new SharedLife(clock, second, 'node', 1_000)
    clock.shiftWall(2_000)
    expect(overdue.judge()?.code).toBe('SCHED_LEASE_LOST')
    expect(new LeaseMemory(second.buffer).lost?.code).toBe('SCHED_LEASE_LOST')
  })
})

describe('whether the event loop turns', () => {
  it('P6: an overdue loop is asked, and has a heartbeat to answer, before it counts as hung', async () => {
    const clock = manualClock()
    let asked = 0
    const liveness = new Liveness({ clock, leaseMs: 1_000, abortGraceMs: 100 })
    const watch = new LivenessWatch(liveness.buffer, { clock, heartbeatMs: 300, ask: () => { asked += 1 } })
    await clock.advance(999)
    expect([watch.hung(), asked]).toEqual([undefined, 0])
    await clock.advance(2)
    expect([watch.hung(), asked]).toEqual([undefined, 1])
    await clock.advance(299)
    expect([watch.hung(), asked]).toEqual([undefined, 1])
    await clock.advance(1)
    expect(watch.hung()?.code).toBe('SCHED_LEASE_LOST')
    liveness.turned()
    expect([watch.hung(), asked]).toEqual([undefined, 1])
  })
})
