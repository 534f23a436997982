import { describe, expect, it } from 'vitest'
import { LockSession } from '../../src/locks/lock-session.ts'
import { settle } from '../manual-clock.ts'
import { name, outcomeOf, scene } from './lock-session-scene.ts'
import { failing, guarded } from './scripted-source.ts'

describe('P3: not re-entrant', () => {
  it('a name in use is refused before any SQL is sent, on every session of the source', async () => {
    const { session, server, hold, clock } = scene('session')
    const holding = await hold('a')
    const sent = server.log.length
    expect(await session.tryLock(name('a'))).toEqual({ status: 'refused', by: 'process' })
    const second = new LockSession({ source: server.source, capabilities: server.source.capabilities, session: guarded(server, clock), heartbeat: 'own', leaseMs: 10_000, ownerLabel: 'x', clock, random: Math.random })
    expect(await second.tryLock(name('a'))).toEqual({ status: 'refused', by: 'process' })
    expect(server.log).toHaveLength(sent)
    expect(await holding.release()).toBe('released')
    expect((await second.tryLock(name('a'))).status).toBe('acquired')
  })

  it('two tries at once for one name: one is asked, one is refused', async () => {
    const { session, server } = scene('session')
    const outcomes = await Promise.all([session.tryLock(name('a')), session.tryLock(name('a'))])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['acquired', 'refused'])
    expect(server.log.filter((line) => line.startsWith('tryLock'))).toHaveLength(1)
  })

  it('a failed try does not leave the name taken (symfony 45505)', async () => {
    const { session, server } = scene('session')
    server.next('tryLock', () => { throw failing('permission') })
    expect(await outcomeOf(session.tryLock(name('a')))).toBe('SCHED_PERMISSION')
    expect(await outcomeOf(session.tryLock(name('a')))).toBe('acquired')
  })

  it('refuses more names than the limit with a code', async () => {
    const { session, hold } = scene('session', { maxLocks: 2 })
    await hold('a')
    const b = await hold('b')
    expect(await outcomeOf(session.tryLock(name('c')))).toBe('SCHED_LOCK_LIMIT')
    await b.release()
    expect(await outcomeOf(session.tryLock(name('c')))).toBe('acquired')
  })
})

describe('P3: doubt about one name is verified, doubt about the session destroys it', () => {
  it('an indeterminate grant that is ours is a grant; one that is not is a refusal', async () => {
    const { session, server, hold } = scene('session')
    const keep = await hold('keep')
    server.next('tryLock', ({ rows }) => { rows.set('a', { owner: '?', connection: 1, expiresAt: Infinity, token: 0 }); return { status: 'indeterminate', reason: 'scripted' } })
    expect(await outcomeOf(session.tryLock(name('a')))).toBe('acquired')
    server.next('tryLock', () => ({ status: 'indeterminate', reason: 'scripted' }))
    expect(await session.tryLock(name('b'))).toEqual({ status: 'refused', by: 'database' })
    expect(keep.judge()).toBeUndefined()
    expect(server.connections[0]?.alive).toBe(true)
  })

  it('an indeterminate grant of a row is taken with the token that was written', async () => {
    const { session, server } = scene('lease')
    server.next('tryLock', ({ rows }) => ({ status: 'indeterminate', reason: `${rows.size}` }))
    expect(await session.tryLock(name('b'))).toEqual({ status: 'refused', by: 'database' })
    const outcome = await session.tryLock(name('a'))
    expect(outcome).toMatchObject({ status: 'acquired', holding: { fencingToken: 1 } })
  })

  it('an error after a grant is looked into: granted all the same (PostgreSQL 55P03)', async () => {
    const { session, server, clock } = scene('session')
    server.next('tryLock', ({ rows }) => { rows.set('a', { owner: '?', connection: 1, expiresAt: Infinity, token: 0 }); throw failing('lock-timeout') })
    const trying = outcomeOf(session.tryLock(name('a')))
    await clock.advance(500)
    expect(await trying).toBe('acquired')
    expect(server.log).toEqual(['tryLock a@1', 'isHeld a@1'])
  })

  it('an error that cannot be repeated away is cleared up on the session', async () => {
    const { session, server } = scene('session')
    server.next('tryLock', ({ rows }) => { rows.set('a', { owner: '?', connection: 1, expiresAt: Infinity, token: 0 }); throw failing('resource-exhausted') })
    expect(await outcomeOf(session.tryLock(name('a')))).toBe('SCHED_RESOURCE_EXHAUSTED')
    await session.settled()
    expect(server.rows.size).toBe(0)
    expect(server.log.slice(1)).toEqual(['isHeld a@1', 'release a@1'])
  })

  it('a token that cannot be drawn gives the lock back', async () => {
    const { session, server } = scene('session', { fence: async () => { throw failing('missing-table') } })
    expect(await outcomeOf(session.tryLock(name('a')))).toBe('SCHED_TABLE_MISSING')
    await session.settled()
    expect(server.rows.size).toBe(0)
    expect(session.state).toBe('open')
  })

  it('a statement without an answer destroys the session, and everything on it is lost', async () => {
    const { session, server, hold, clock } = scene('session')
    const keep = await hold('keep')
    server.next('tryLock', () => new Promise(() => {}))
    const trying = outcomeOf(session.tryLock(name('a')))
    await clock.advance(4500)
    expect(await trying).toBe('SCHED_QUERY_TIMEOUT')
    expect(keep.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
    expect(server.connections[0]?.alive).toBe(false)
    expect(session.state).toBe('lost')
    expect(await outcomeOf(session.tryLock(name('b')))).toBe('SCHED_SESSION_LOST')
  })

  it('a release that the server will not confirm puts the session into quarantine; it ends with its last lock', async () => {
    const { session, server, hold, events } = scene('session')
    const keep = await hold('keep')
    const odd = await hold('odd')
    server.next('release', () => ({ status: 'indeterminate', reason: 'scripted' }))
    server.next('isHeld', () => 'unknown')
    expect(await odd.release()).toBe('lost')
    expect(events.map(({ kind }) => kind)).toContain('lock.release-failed')
    await session.settled()
    expect(session.state).toBe('quarantined')
    expect(await outcomeOf(session.tryLock(name('new')))).toBe('SCHED_SESSION_LOST')
    expect(keep.judge()).toBeUndefined()
    expect(await keep.release()).toBe('released')
    await settle()
    expect(session.state).toBe('closed')
    expect(server.connections[0]?.alive).toBe(false)
    expect(server.rows.size).toBe(0)
  })

  it('"not held" at a release makes the others be looked at', async () => {
    const { session, server, hold } = scene('session')
    const [a, b, c] = [await hold('a'), await hold('b'), await hold('c')]
    server.rows.delete('a')
    server.rows.delete('b')
    expect(await a.release()).toBe('lost')
    await session.settled()
    expect(b.judge()).toMatchObject({ code: 'SCHED_LOCK_LOST' })
    expect(c.judge()).toBeUndefined()
  })

  it('an indeterminate release is tried once more', async () => {
    const { server, hold, session } = scene('session')
    const a = await hold('a')
    server.next('release', () => ({ status: 'indeterminate', reason: 'scripted' }))
    expect(await a.release()).toBe('released')
    expect(session.state).toBe('open')
    expect(server.log).toEqual(['tryLock a@1', 'release a@1', 'isHeld a@1', 'release a@1'])
  })
})

describe('P10: transient errors are tried again within a bound', () => {
  it('a deadlock is not the end of a try', async () => {
    const { session, server, clock } = scene('lease')
    for (const as of ['deadlock', 'contended', 'serialization'] as const) server.next('tryLock', () => { throw failing(as) })
    const trying = outcomeOf(session.tryLock(name('a')))
    await clock.advance(1000)
    expect(await trying).toBe('acquired')
  })

  it('a busy database ends as what it is, not as a refusal', async () => {
    const { session, server, clock } = scene('lease')
    for (let index = 0; index < 1000; index += 1) server.next('tryLock', () => { throw failing('contended') })
    const trying = outcomeOf(session.tryLock(name('a')))
    await clock.advance(10_000)
    expect(await trying).toBe('SCHED_CONTENDED')
    expect(server.log.length).toBeLessThan(50)
  })
})

describe('an abort of a try', () => {
  it('rejects at once, leaves the session and its locks alone, and gives back what was granted', async () => {
    const { session, server, hold } = scene('session')
    const keep = await hold('keep')
    const gate = Promise.withResolvers<undefined>()
    server.next('tryLock', () => gate.promise)
    const controller = new AbortController()
    const trying = outcomeOf(session.tryLock(name('a'), { signal: controller.signal }))
    await settle()
    controller.abort()
    expect(await trying).toBe('SCHED_ABORTED')
    // Until it is cleared up the name is in use.
    expect(await session.tryLock(name('a'))).toEqual({ status: 'refused', by: 'process' })
    gate.resolve(undefined)
    await session.settled()
    expect([...server.rows.keys()]).toEqual(['keep'])
    expect(keep.judge()).toBeUndefined()
    expect(await outcomeOf(session.tryLock(name('a')))).toBe('acquired')
  })
})
