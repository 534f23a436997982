import { expect, test } from 'vitest'
import { manualClock, type ManualClock } from '../../src/testing/index.ts'
import { sleep } from '../../src/time/wait.ts'

/** Writes down when timers ring, by the clock's own monotonic time since now. */
function journal(clock: ManualClock): { readonly rung: string[]; readonly set: (name: string, delayMs: number) => void } {
  const rung: string[] = []
  const begin = clock.monotonicMs()
  return { rung, set: (name, delayMs) => { clock.setTimer(() => { rung.push(`${name} at ${Math.round(clock.monotonicMs() - begin)}`) }, delayMs) } }
}

test('timers ring in order of time, then of setting, and promises settle in between', async () => {
  const clock = manualClock()
  const { rung, set } = journal(clock)
  set('late', 20)
  set('first', 10)
  set('second', 10)
  clock.setTimer(() => { void Promise.resolve().then(() => { set('set by a promise', 5) }) }, 12)
  await clock.advance(30)
  expect(rung).toEqual(['first at 10', 'second at 10', 'set by a promise at 17', 'late at 20'])
})

test('nothing rings before its time, and what was cancelled does not ring', async () => {
  const clock = manualClock()
  const { rung, set } = journal(clock)
  set('due', 10)
  clock.setTimer(() => { rung.push('cancelled') }, 5).cancel()
  await clock.advance(9)
  expect(rung).toEqual([])
  expect(clock.timers).toEqual([{ dueInMs: 1, unref: false }])
  await clock.advance(1)
  expect(rung).toEqual(['due at 10'])
  expect(clock.timers).toEqual([])
})

test('it starts where it is told, and refuses what is no instant', () => {
  expect(manualClock({ startAt: '2027-03-28T00:00:00Z' }).wallMs()).toBe(Date.UTC(2027, 2, 28))
  expect(manualClock({ startAt: new Date(5) }).worldMs()).toBe(5)
  expect(() => manualClock({ startAt: 'soon' })).toThrow(/no instant/)
})

test('a wall clock that is set moves neither timers nor the world', async () => {
  const clock = manualClock({ startAt: 0 })
  const { rung, set } = journal(clock)
  set('timer', 100)
  clock.jumpWall(-3_600_000)
  await clock.advance(50)
  expect([clock.wallMs(), clock.worldMs(), rung.length]).toEqual([-3_599_950, 50, 0])
  await clock.advance(50)
  expect(rung).toEqual(['timer at 100'])
})

test('a suspended host: monotonic stands still, the wall clock and the others go on', async () => {
  const clock = manualClock({ startAt: 0 })
  const other = clock.sibling()
  const mine = journal(clock)
  const others = journal(other)
  mine.set('mine', 100)
  others.set('other', 100)
  await clock.suspend(1000)
  expect([mine.rung, others.rung]).toEqual([[], ['other at 100']])
  expect([clock.wallMs(), clock.monotonicMs()]).toEqual([1000, manualClock().monotonicMs()])
  await clock.advance(100)
  expect(mine.rung).toEqual(['mine at 100'])
})

test('a frozen process rings nothing, and its clocks go on; after the thaw the overdue comes at once', async () => {
  const clock = manualClock({ startAt: 0 })
  const { rung, set } = journal(clock)
  set('b', 200)
  set('a', 100)
  clock.freeze()
  clock.deliver(() => { rung.push('from outside') })
  await clock.advance(1000)
  expect([rung, clock.monotonicMs() - manualClock().monotonicMs(), clock.wallMs(), clock.frozen]).toEqual([[], 1000, 1000, true])
  clock.thaw()
  await clock.advance(0)
  expect(rung).toEqual(['a at 1000', 'b at 1000', 'from outside'])
})

test('after a thaw the outside may come before the timers, and nothing is lost when it freezes again', async () => {
  const clock = manualClock()
  const { rung, set } = journal(clock)
  clock.freeze()
  set('timer', 0)
  clock.deliver(() => { rung.push('one'); clock.freeze() })
  clock.deliver(() => { rung.push('two') })
  clock.thaw('outside')
  await clock.advance(10)
  expect(rung).toEqual(['one'])
  clock.thaw('outside')
  clock.deliver(() => { rung.push('three') })
  await clock.advance(0)
  expect(rung).toEqual(['one', 'two', 'timer at 10', 'three'])
})

test('a halted process does nothing ever again', async () => {
  const clock = manualClock()
  const { rung, set } = journal(clock)
  set('timer', 10)
  clock.halt()
  clock.thaw()
  clock.deliver(() => { rung.push('from outside') })
  set('another', 1)
  await clock.advance(100)
  expect([rung, clock.halted]).toEqual([[], true])
})

test('clocks of one world drift and differ, and advance together', async () => {
  const clock = manualClock({ startAt: 0 })
  const fast = clock.sibling({ skewMs: 500, driftPpm: 10_000 })
  const { rung, set } = journal(fast)
  set('by its own time', 101)
  await clock.advance(99)
  expect(rung).toEqual([])
  await fast.advance(1)
  expect(rung).toEqual(['by its own time at 101'])
  expect([fast.wallMs(), clock.wallMs()]).toEqual([601, 100])
})

test('until goes on as far as needed, and says when that is not far enough', async () => {
  const clock = manualClock({ startAt: 0 })
  await clock.until(sleep(clock, 250))
  expect(clock.worldMs()).toBe(250)
  await expect(clock.until(Promise.reject(new Error('the reason')))).rejects.toThrow('the reason')
  await expect(clock.until(new Promise(() => undefined), 1000)).rejects.toThrow('did not happen within 1000 ms')
})

test('a second advance before the first has ended is a mistake', async () => {
  const clock = manualClock()
  const first = clock.advance(10)
  await expect(clock.advance(10)).rejects.toThrow('await one advance before the next')
  await expect(clock.advance(-1)).rejects.toThrow('goes forward')
  await first
})
