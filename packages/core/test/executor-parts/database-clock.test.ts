import { describe, expect, it } from 'vitest'
import { DatabaseClock } from '../../src/executor/database-clock.ts'
import { manualClock } from '../manual-clock.ts'

const dbStart = 1_800_000_000_000

describe('P9: the database clock', () => {
  /** A reading with the answer `halfMs` after the request, and the true time in the middle of it. */
  async function read(clock: ReturnType<typeof manualClock>, forthMs: number, backMs: number, aheadMs = 0) {
    const sentAt = clock.monotonicMs()
    await clock.advance(forthMs)
    const dbNow = dbStart + clock.monotonicMs() + aheadMs
    await clock.advance(backMs)
    return { sentAt, receivedAt: clock.monotonicMs(), dbNow }
  }

  it('takes the offset of the shortest round trip among the recent ones', async () => {
    const clock = manualClock()
    const database = new DatabaseClock(clock)
    database.add(await read(clock, 90, 10))
    expect(database.nowMs() - (dbStart + clock.monotonicMs())).toBe(40) // half the asymmetry
    database.add(await read(clock, 1, 1))
    expect(database.nowMs()).toBe(dbStart + clock.monotonicMs())
    expect(database.uncertaintyMs()).toBe(1)
    for (let count = 0; count < 8; count += 1) database.add(await read(clock, 5, 5))
    expect(database.uncertaintyMs()).toBe(5) // the old short one is forgotten: clocks drift
  })

  it('calls a reading a departure only beyond what its own round trip explains', async () => {
    const clock = manualClock()
    const database = new DatabaseClock(clock)
    database.add(await read(clock, 1, 1))
    expect(database.departureMs(await read(clock, 600, 0))).toBe(0) // slow, not wrong
    expect(database.departureMs(await read(clock, 1, 1, 5000))).toBe(4999)
    expect(database.departureMs(await read(clock, 1, 1, -5000))).toBe(4999)
  })

  it('notices a host that slept, and a wall clock that was set', async () => {
    const clock = manualClock()
    const database = new DatabaseClock(clock)
    database.add(await read(clock, 1, 1))
    await clock.advance(60_000)
    expect(database.suspicious).toBe(false)
    clock.shiftWall(3_600_000)
    expect(database.suspicious).toBe(true)
    database.add(await read(clock, 1, 1))
    expect(database.suspicious).toBe(false)
    clock.shiftWall(-10_000)
    expect(database.suspicious).toBe(true)
  })
})
