import { describe, expect, it } from 'vitest'
import { Agenda } from '../../src/executor/agenda.ts'
import { systemClock, type Clock } from '../../src/time/clock.ts'
import { manualClock } from '../manual-clock.ts'

describe('the agenda', () => {
  it('rings in order of time, never early, and replaces an entry of the same key', async () => {
    const clock = manualClock()
    const start = clock.monotonicMs()
    const rung: string[] = []
    const agenda = new Agenda(clock, () => clock.monotonicMs())
    const set = (key: string, inMs: number, name = key): void => agenda.set(key, start + inMs, () => { rung.push(`${name}@${clock.monotonicMs() - start >= inMs ? 'due' : 'early'}`) })
    set('c', 300)
    set('a', 100)
    set('b', 200)
    set('b', 50, 'b again')
    agenda.cancel('c')
    await clock.advance(1000)
    expect(rung).toEqual(['b again@due', 'a@due'])
  })

  it('P9: a timer that fires early re-arms: the database decides what the time is', async () => {
    const clock = manualClock()
    let behindMs = 40 // the database's clock is behind what this node believed when it armed the timer
    const agenda = new Agenda(clock, () => clock.monotonicMs() - behindMs)
    const rung: number[] = []
    agenda.set('slot', clock.monotonicMs() - behindMs + 100, () => { rung.push(clock.monotonicMs()) })
    behindMs = 90
    const armedAt = clock.monotonicMs()
    await clock.advance(120)
    expect(rung).toEqual([])
    await clock.advance(60)
    expect(rung).toHaveLength(1)
    expect((rung[0] as number) - armedAt).toBeGreaterThanOrEqual(150)
  })

  it('keeps the earlier of two times where asked to', async () => {
    const clock = manualClock()
    const start = clock.monotonicMs()
    const rung: string[] = []
    const agenda = new Agenda(clock, () => clock.monotonicMs())
    agenda.setEarliest('due', start + 100, () => { rung.push('first') })
    agenda.setEarliest('due', start + 500, () => { rung.push('later') })
    agenda.setEarliest('due', start + 50, () => { rung.push('sooner') })
    await clock.advance(1000)
    expect(rung).toEqual(['sooner'])
  })

  it('P12: ten thousand entries in one second arm one timer at a time and let the loop turn in between', async () => {
    const started: number[] = []
    const counting: Clock = { ...systemClock, setTimer: (callback, delayMs, options) => { started.push(delayMs); return systemClock.setTimer(callback, delayMs, options) } }
    const agenda = new Agenda(counting, () => performance.now())
    const at = performance.now() + 20
    let rung = 0
    for (let index = 0; index < 10_000; index += 1) agenda.set(`task ${index}`, at, () => { rung += 1 })
    expect(started).toHaveLength(1)
    let turns = 0
    while (rung < 10_000) { await new Promise((resolve) => { setImmediate(resolve) }); turns += rung > 0 && rung < 10_000 ? 1 : 0 }
    expect(turns).toBeGreaterThan(10)
  })

  it('is right past 24.8 days, and stops', async () => {
    const clock = manualClock()
    const start = clock.monotonicMs()
    const dayMs = 86_400_000
    const rung: string[] = []
    const agenda = new Agenda(clock, () => clock.monotonicMs())
    agenda.set('far', start + 60 * dayMs, () => { rung.push('far') })
    await clock.advance(59 * dayMs)
    expect(rung).toEqual([])
    await clock.advance(2 * dayMs)
    expect(rung).toEqual(['far'])
    agenda.set('never', start + 100 * dayMs, () => { rung.push('never') })
    agenda.stop()
    await clock.advance(100 * dayMs)
    expect(rung).toEqual(['far'])
  })
})
