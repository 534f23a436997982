import { describe, expect, it } from 'vitest'
import { settle } from '../manual-clock.ts'
import { name, outcomeOf, scene } from './lock-session-scene.ts'
import { failing } from './scripted-source.ts'

describe('P5: judged from when the last successful request was sent', () => {
  it('a lease that was not renewed is over after lease less margin, at the look, before any timer', async () => {
    for (const kind of ['session', 'lease'] as const) {
      const { hold, clock } = scene(kind)
      const holding = await hold('a')
      let told = 0
      holding.onLost(() => { told += 1 })
      clock.freeze(8999)
      expect(holding.judge()).toBeUndefined()
      clock.freeze(1)
      expect(told).toBe(0)
      expect(holding.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
      expect(told).toBe(1)
    }
  })

  it('the loss is told without a look, when the loop turns', async () => {
    const { hold, clock, server, events } = scene('lease')
    const holding = await hold('a')
    let told = false
    holding.onLost(() => { told = true })
    server.next('refresh', () => new Promise(() => {}))
    for (let index = 0; index < 20; index += 1) server.next('refresh', () => { throw failing('permission') })
    await clock.advance(9000)
    expect(told).toBe(true)
    expect(events.map(({ kind }) => kind)).toContain('lock.lost')
    expect(events.some(({ kind }) => kind === 'lock.heartbeat-failed')).toBe(true)
    expect(holding.judge()?.cause).toMatchObject({ code: 'SCHED_PERMISSION' })
  })

  it('counts from sent, not from answered: a grant whose answer came late is no grant', async () => {
    for (const kind of ['session', 'lease'] as const) {
      const { session, server, clock } = scene(kind, { statementMs: 60_000 })
      server.next('tryLock', async () => { clock.freeze(9500); return undefined })
      expect(await outcomeOf(session.tryLock(name('a')))).toBe('SCHED_LOCK_LOST')
      await clock.advance(100)
      await session.settled()
      expect(server.rows.size).toBe(0)
    }
  })

  it('a heartbeat answer that is processed after the old deadline is a loss', async () => {
    for (const kind of ['session', 'lease'] as const) {
      const { hold, server, clock } = scene(kind)
      const holding = await hold('a')
      // The server has renewed it in time, and still would not say that it is lost.
      server.next('refresh', () => { clock.freeze(7500) })
      await clock.advance(2000)
      expect(holding.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
    }
  })

  it('overdue is checked before a heartbeat is sent: destroyed, not sent', async () => {
    const { hold, server, clock } = scene('session')
    const holding = await hold('a')
    clock.freeze(20_000)
    await clock.advance(0)
    expect(server.log).toEqual(['tryLock a@1'])
    expect(server.connections[0]?.alive).toBe(false)
    expect(holding.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
  })

  it('nor is anything else sent on an overdue session after a freeze', async () => {
    const { hold, server, clock, session } = scene('session')
    await hold('a')
    clock.freeze(20_000)
    expect(await outcomeOf(session.tryLock(name('b')))).toBe('SCHED_LOCK_LOST')
    expect(server.log).toEqual(['tryLock a@1'])
  })

  it('a suspended host has lost its lease although its monotonic clock stood still', async () => {
    const { hold, clock } = scene('lease')
    const holding = await hold('a')
    clock.shiftWall(3_600_000)
    expect(holding.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
  })
})

describe('the heartbeat keeps leases for as long as they are held', () => {
  it.each(['session', 'lease'] as const)('%s: ten minutes, one round trip per beat however many locks', async (kind) => {
    const { hold, server, clock } = scene(kind)
    const holdings = [await hold('a'), await hold('b'), await hold('c')]
    await clock.advance(600_000)
    for (const holding of holdings) expect(holding.judge()).toBeUndefined()
    const beats = server.log.filter((line) => line.startsWith('refresh')).length
    expect(beats).toBeGreaterThanOrEqual(295)
    expect(beats).toBeLessThanOrEqual(305)
  })

  it('P12: stops with the last lock', async () => {
    const { hold, server, clock } = scene('session')
    const holding = await hold('a')
    await clock.advance(10_000)
    await holding.release()
    const sent = server.log.length
    await clock.advance(600_000)
    expect(server.log).toHaveLength(sent)
    expect(clock.timers).toBe(0)
  })

  it('a beat that fails is tried again soon, and costs nothing when it then works', async () => {
    const { hold, server, clock, events } = scene('lease')
    const holding = await hold('a')
    for (let index = 0; index < 3; index += 1) server.next('refresh', () => { throw failing('deadlock') })
    await clock.advance(4000)
    expect(holding.judge()).toBeUndefined()
    expect(events.filter(({ kind }) => kind === 'lock.heartbeat-failed')).toHaveLength(3)
    await clock.advance(60_000)
    expect(holding.judge()).toBeUndefined()
  })

  it('P4: never revives what the database says is not held', async () => {
    const { hold, server, clock } = scene('lease')
    const [a, b] = [await hold('a'), await hold('b')]
    server.rows.set('a', { owner: 'somebody else', connection: 9, expiresAt: Infinity, token: 99 })
    await clock.advance(2000)
    expect(a.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
    expect(b.judge()).toBeUndefined()
    expect(await a.release()).toBe('lost')
    expect(server.rows.get('a')?.owner).toBe('somebody else')
  })
})

describe('a lost session', () => {
  it('takes its locks along when they belong to it: told at once, without a query', async () => {
    const { hold, server, session, events } = scene('session')
    const holding = await hold('a')
    const reasons: string[] = []
    holding.onLost(({ code }) => reasons.push(code))
    server.connections[0]?.lose()
    expect(reasons).toEqual(['SCHED_LOCK_LOST'])
    expect(session.state).toBe('lost')
    expect(await holding.release()).toBe('lost')
    expect(server.log).toEqual(['tryLock a@1'])
    expect(events.map(({ kind }) => kind)).toEqual(['lock.session-lost', 'lock.lost'])
  })

  it('leaves leases in rows alone: they live on through the next connection', async () => {
    const { hold, server, clock, session } = scene('lease')
    const holding = await hold('a')
    for (let round = 0; round < 5; round += 1) {
      server.connections.at(-1)?.lose()
      await clock.advance(5000)
    }
    expect(holding.judge()).toBeUndefined()
    expect(server.connections).toHaveLength(6)
    server.connections.at(-1)?.lose()
    expect(await holding.release()).toBe('released')
    expect(session.state).toBe('open')
  })

  it('but not for longer than their time while the database is away', async () => {
    const { hold, clock, server } = scene('lease', { reopen: async () => { throw failing('connection-lost') } })
    const holding = await hold('a')
    server.connections[0]?.lose()
    await clock.advance(8900)
    expect(holding.judge()).toBeUndefined()
    await clock.advance(200)
    expect(holding.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
  })

  it('a try on a connection that died unnoticed goes on through the next: what the first one wrote is ours', async () => {
    const { session, server } = scene('lease')
    server.next('tryLock', ({ connections, rows }) => {
      const owner = 'unknown'
      rows.set('a', { owner, connection: 1, expiresAt: 0, token: 41 })
      connections[0]?.lose()
      throw failing('connection-lost')
    })
    expect(await outcomeOf(session.tryLock(name('a')))).toBe('acquired')
    expect(server.log).toEqual(['tryLock a@1', 'isHeld a@2', 'tryLock a@2'])
  })
})

describe('release', () => {
  it('waits for a refresh in flight, which then is no loss (Redlock 205)', async () => {
    const { hold, server, clock, events } = scene('lease')
    const holding = await hold('a')
    const gate = Promise.withResolvers<undefined>()
    server.next('refresh', () => gate.promise)
    await clock.advance(2000)
    const releasing = holding.release()
    await settle()
    expect(server.log).toEqual(['tryLock a@1', 'refresh a@1'])
    gate.resolve(undefined)
    expect(await releasing).toBe('released')
    expect(events).toEqual([])
    expect(holding.judge()).toBeUndefined()
  })

  it('is idempotent, and a lost answer of our own release is no loss', async () => {
    const { hold, server, clock } = scene('lease')
    const holding = await hold('a')
    server.next('release', ({ rows, connections }) => { rows.delete('a'); connections[0]?.lose(); throw failing('connection-lost') })
    const releasing = Promise.all([holding.release(), holding.release()])
    await clock.advance(1000)
    expect(await releasing).toEqual(['released', 'released'])
  })

  it('never throws, and says why it could not be confirmed', async () => {
    const { hold, server, events, session } = scene('session')
    const holding = await hold('a')
    server.next('release', () => { throw failing('unknown') })
    expect(await holding.release()).toBe('lost')
    expect(session.state).toBe('lost')
    expect(events.map(({ kind }) => kind)).toContain('lock.lost')
    expect(server.rows.size).toBe(0)
  })

  it('refresh after release says so', async () => {
    const { hold } = scene('session')
    const holding = await hold('a')
    await holding.refresh()
    await holding.release()
    expect(await outcomeOf(holding.refresh())).toBe('SCHED_LOCK_LOST')
    expect(holding.judge()).toBeUndefined()
  })
})
