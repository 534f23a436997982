import { describe, expect, it } from 'vitest'
import { SchedError } from '../../src/errors.ts'
import { registryOf } from '../../src/locks/holding-registry.ts'
import { sleep } from '../../src/time/wait.ts'
import { startStopwatch } from '../../src/time/stopwatch.ts'
import { settle } from '../manual-clock.ts'
import { name, outcomeOf, scene } from './lock-session-scene.ts'

describe('a wait inside the server', () => {
  it('does not eat the lease: the session proves itself once more, and the lease counts from that', async () => {
    const { session, server, clock } = scene('session')
    const reservation = registryOf(server.source).tryReserve(name('a').canonical, 10)!
    server.next('lock', async () => { clock.freeze(6000); return undefined })
    const holding = await session.claim(reservation, name('a'), { waitMs: 8000 })
    expect(holding?.leftMs()).toBe(9000)
    expect(server.log).toEqual(['lock a@1', 'refresh a@1'])
  })

  it('that is aborted destroys the session', async () => {
    const { session, server } = scene('session')
    const reservation = registryOf(server.source).tryReserve(name('a').canonical, 10)!
    const controller = new AbortController()
    server.next('lock', () => new Promise(() => {}))
    const waiting = outcomeOf(session.claim(reservation, name('a'), { waitMs: 8000, signal: controller.signal }))
    await settle()
    controller.abort()
    expect(await waiting).toBe('SCHED_ABORTED')
    expect(server.connections[0]?.alive).toBe(false)
  })
})

describe('heartbeat `external`', () => {
  it('sends nothing itself; a statement of the owner proves all locks from when it was sent', async () => {
    const { session, server, hold, clock } = scene('session', { heartbeat: 'external' })
    const holding = await hold('a')
    await clock.advance(8000)
    expect(server.log).toEqual(['tryLock a@1'])
    const sent = startStopwatch(clock)
    await clock.advance(500)
    session.renewed(sent)
    await clock.advance(8400)
    expect(session.judge()).toBeUndefined()
    expect(holding.judge()).toBeUndefined()
    await clock.advance(101)
    expect(holding.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
    expect(server.connections[0]?.alive).toBe(false)
  })

  it('takes no proof that is told after the old deadline', async () => {
    const { session, hold, clock } = scene('session', { heartbeat: 'external' })
    const holding = await hold('a')
    clock.freeze(8000)
    const sent = startStopwatch(clock)
    clock.freeze(1500)
    session.renewed(sent)
    expect(holding.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
    expect(session.state).toBe('lost')
  })

  it('tells the owner not to send when it is overdue', async () => {
    const { session, server, hold, clock } = scene('session', { heartbeat: 'external' })
    await hold('a')
    clock.freeze(9500)
    expect(session.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
    expect(session.state).toBe('lost')
    expect(server.connections[0]?.alive).toBe(false)
  })

  it('renews leases in rows by itself all the same', async () => {
    const { server, hold, clock } = scene('lease', { heartbeat: 'external' })
    const holding = await hold('a')
    await clock.advance(60_000)
    expect(holding.judge()).toBeUndefined()
    expect(server.log.filter((line) => line.startsWith('refresh')).length).toBeGreaterThan(25)
  })
})

describe('a queue on the session', () => {
  it('a hundred leases that are refreshed at once are one round trip', async () => {
    const { server, hold } = scene('lease')
    const holdings = await Promise.all(Array.from({ length: 100 }, (_, index) => hold(`n${index}`)))
    const refreshes = (): number => server.log.filter((line) => line.startsWith('refresh')).length
    await Promise.all(holdings.map((holding) => holding.refresh()))
    expect(refreshes()).toBeLessThanOrEqual(2)
    // Whoever asks after it was sent gets a proof of its own.
    const gate = Promise.withResolvers<undefined>()
    server.next('refresh', () => gate.promise)
    const before = refreshes()
    const first = holdings[0]!.refresh()
    await settle()
    const second = holdings[1]!.refresh()
    gate.resolve(undefined)
    await Promise.all([first, second])
    expect(refreshes()).toBe(before + 2)
  })

  it('does not count as the time of a statement: thirty slow releases at once are thirty releases', async () => {
    const { server, hold, clock, events } = scene('session')
    const holdings = await Promise.all(Array.from({ length: 30 }, (_, index) => hold(`n${index}`)))
    for (let index = 0; index < 30; index += 1) server.next('release', () => sleep(clock, 300))
    const releasing = Promise.all(holdings.map((holding) => holding.release()))
    await clock.advance(9500)
    expect(new Set(await releasing)).toEqual(new Set(['released']))
    expect(events).toEqual([])
    expect(server.rows.size).toBe(0)
  })

  it('a try that was aborted before its turn is not sent', async () => {
    const { session, server, clock } = scene('session')
    server.next('tryLock', () => sleep(clock, 300))
    const first = session.tryLock(name('first'))
    const controller = new AbortController()
    const second = outcomeOf(session.tryLock(name('second'), { signal: controller.signal }))
    controller.abort()
    expect(await second).toBe('SCHED_ABORTED')
    await clock.advance(300)
    expect((await first).status).toBe('acquired')
    await session.settled()
    expect(server.log).toEqual(['tryLock first@1'])
  })
})

describe('an idle session', () => {
  it('that was not proved for longer than the lease is not used', async () => {
    const { session, server, clock } = scene('session')
    clock.freeze(9500)
    expect(await outcomeOf(session.tryLock(name('a')))).toBe('SCHED_SESSION_LOST')
    expect(server.log).toEqual([])
    expect(server.connections[0]?.alive).toBe(false)
  })


  it('P12: ends after its idle time, not while a call is in flight', async () => {
    const { session, server, clock } = scene('session', { idleMs: 500 })
    await clock.advance(400)
    const gate = Promise.withResolvers<unknown>()
    server.next('tryLock', () => gate.promise)
    const trying = session.tryLock(name('a'))
    await clock.advance(600)
    gate.resolve({ status: 'granted' })
    const outcome = await trying
    if (outcome.status !== 'acquired') throw new Error('refused')
    await clock.advance(600)
    expect(session.state).toBe('open')
    server.next('release', () => ({ status: 'released' }))
    await outcome.holding.release()
    await clock.advance(499)
    expect(session.state).toBe('open')
    await clock.advance(1)
    expect(session.state).toBe('closed')
    expect(server.connections[0]?.alive).toBe(false)
  })
})

describe('close', () => {
  it('tells every holder, with the reason, and destroys the connection', async () => {
    const { session, server, hold, clock } = scene('session')
    const holding = await hold('a')
    const reasons: string[] = []
    holding.onLost(({ code }) => reasons.push(code))
    session.close(new SchedError('SCHED_STOPPED', 'closed.'))
    session.close(new SchedError('SCHED_STOPPED', 'closed again.'))
    expect(reasons).toEqual(['SCHED_STOPPED'])
    expect(await holding.release()).toBe('lost')
    expect(server.connections[0]?.alive).toBe(false)
    expect(clock.timers).toBe(0)
  })
})
