import { describe, expect, it } from 'vitest'
import { systemClock } from '../../src/time/clock.ts'
import { startStopwatch } from '../../src/time/stopwatch.ts'
import { manualClock } from '../manual-clock.ts'

describe('systemClock', () => {
  it('never fires a timer early, fractions included', async () => {
    const early = await Promise.all(Array.from({ length: 50 }, (_, index) => new Promise<number>((resolve) => {
      const delayMs = 1 + index / 7
      const began = performance.now()
      systemClock.setTimer(() => resolve(performance.now() - began - delayMs), delayMs)
    })))
    expect(Math.min(...early)).toBeGreaterThanOrEqual(0)
  })

  it('does not fire what was cancelled, nor at once what is due in a month', async () => {
    let fired = 0
    systemClock.setTimer(() => { fired += 1 }, 5).cancel()
    const far = systemClock.setTimer(() => { fired += 1 }, 31 * 86_400_000)
    await new Promise((resolve) => { setTimeout(resolve, 30) })
    far.cancel()
    expect(fired).toBe(0)
  })
})

describe('Stopwatch', () => {
  it('P5: counts the time a host was suspended, which the monotonic clock does not', () => {
    const clock = manualClock()
    const watch = startStopwatch(clock)
    clock.shiftWall(3_600_000)
    expect(watch.elapsedMs()).toBe(3_600_000)
  })

  it('P5: a wall clock that is set back does not lengthen a lease', () => {
    const clock = manualClock()
    const watch = startStopwatch(clock)
    clock.freeze(5000)
    clock.shiftWall(-60_000)
    expect(watch.elapsedMs()).toBe(5000)
  })
})
