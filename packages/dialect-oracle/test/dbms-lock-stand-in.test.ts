import { SchedError } from '@sched/core/spi'
import { describe, expect, it } from 'vitest'
import { errorOf, Ground, holdingOf, nameOf, requestFor } from './support/ground.ts'

describe('stand-in at the wire: DBMS_LOCK', () => {
  it('keeps one number for one name while somebody holds it, however long', async () => {
    const ground = await Ground.start()
    const { strategy } = ground.dialect.locks
    const [holder, other] = [await ground.open(), await ground.open()]
    const request = requestFor(nameOf('month-end'))
    expect(await strategy.tryLock(holder, request)).toEqual({ status: 'granted' })
    for (let day = 0; day < 15; day += 1) {
      ground.daysPass(1.01)
      expect(await strategy.refresh(holder, [holdingOf(request)], 30_000)).toEqual({ lost: [] })
    }
    // Without the renewal the name would have been given another number by now, and the lock a second time.
    expect(await strategy.tryLock(other, requestFor(request.name))).toEqual({ status: 'refused' })
    expect(await strategy.release(holder, holdingOf(request))).toEqual({ status: 'released' })
    expect(await strategy.tryLock(other, requestFor(request.name))).toEqual({ status: 'granted' })
  })

  it('asks for no name twice on one day', async () => {
    const ground = await Ground.start()
    const { strategy } = ground.dialect.locks
    const holder = await ground.open()
    const request = requestFor(nameOf('often'))
    await strategy.tryLock(holder, request)
    const before = ground.server.userLocks.allocations
    for (let beat = 0; beat < 20; beat += 1) await strategy.refresh(holder, [holdingOf(request)], 30_000)
    expect(ground.server.userLocks.allocations).toBe(before)
    ground.daysPass(1.5)
    await strategy.refresh(holder, [holdingOf(request)], 30_000)
    expect(ground.server.userLocks.allocations).toBe(before + 1)
  })

  it('renews many names in portions', async () => {
    const ground = await Ground.start()
    const { strategy } = ground.dialect.locks
    const holder = await ground.open()
    const requests = Array.from({ length: 120 }, (_, index) => requestFor(nameOf(`many-${index}`)))
    for (const request of requests) await strategy.tryLock(holder, request)
    ground.daysPass(2)
    const before = ground.server.userLocks.allocations
    const done: number[] = []
    for (let beat = 0; beat < 4; beat += 1) {
      expect(await strategy.refresh(holder, requests.map(holdingOf), 30_000)).toEqual({ lost: [] })
      done.push(ground.server.userLocks.allocations - before)
    }
    expect(done).toEqual([50, 100, 120, 120])
  })

  it('tells a holder that slept past the mapping that its lock is lost, and keeps nothing of what it asked', async () => {
    const ground = await Ground.start()
    const { strategy } = ground.dialect.locks
    const [holder, other] = [await ground.open(), await ground.open()]
    const request = requestFor(nameOf('asleep'))
    await strategy.tryLock(holder, request)
    ground.daysPass(11)
    expect(await strategy.refresh(holder, [holdingOf(request)], 30_000)).toEqual({ lost: [request.owner] })
    expect(await strategy.tryLock(other, requestFor(request.name))).toEqual({ status: 'granted' })
    expect(await strategy.release(holder, holdingOf(request))).toEqual({ status: 'not-held' })
  })

  it('asks who has it without keeping what it asked for', async () => {
    const ground = await Ground.start()
    const { strategy } = ground.dialect.locks
    const [first, second] = [await ground.open(), await ground.open()]
    const request = requestFor(nameOf('asked'))
    expect(await strategy.isHeld(first, holdingOf(request))).toBe('free')
    expect(ground.server.userLocks.rows()).toHaveLength(0)
    await strategy.tryLock(first, request)
    expect(await strategy.isHeld(first, holdingOf(request))).toBe('mine')
    expect(await strategy.isHeld(second, holdingOf(request))).toBe('other')
  })

  it('calls status 4 of a try what it is: two owners on one session, which ends it', async () => {
    const ground = await Ground.start()
    const { locks } = ground.dialect
    const connection = await ground.open()
    const name = nameOf('twice')
    await locks.strategy.tryLock(connection, requestFor(name))
    const error = await errorOf(locks.strategy.tryLock(connection, requestFor(name)))
    expect(error).toBeInstanceOf(SchedError)
    expect(locks.classify(error)).toBe('unknown')
  })

  it('reports a deadlock of two waiters as one (status 2)', async () => {
    const ground = await Ground.start()
    const { locks } = ground.dialect
    const [one, two] = [await ground.open('wait'), await ground.open('wait')]
    const [a, b] = [nameOf('a'), nameOf('b')]
    await locks.strategy.tryLock(one, requestFor(a))
    await locks.strategy.tryLock(two, requestFor(b))
    const waiting = locks.strategy.lock?.(one, requestFor(b), 10_000)
    await ground.waiting(1)
    const error = await errorOf(locks.strategy.lock?.(two, requestFor(a), 10_000) ?? Promise.resolve())
    expect(locks.classify(error)).toBe('deadlock')
    await locks.strategy.release(two, { name: b, owner: 'x', fencingToken: undefined })
    expect(await waiting).toEqual({ status: 'granted' })
  })

  it('waits longer than a call may take otherwise', async () => {
    const ground = await Ground.start()
    const { strategy } = ground.dialect.locks
    const [holder, waiter] = [await ground.open(), await ground.open('wait', { leaseMs: 1_000 })]
    const request = requestFor(nameOf('patience'))
    await strategy.tryLock(holder, request)
    const startedAt = performance.now()
    expect(await strategy.lock?.(waiter, requestFor(request.name), 3_400)).toEqual({ status: 'refused' })
    expect(performance.now() - startedAt).toBeGreaterThan(3_350)
  })

  it('leaves the queue when its connection is destroyed, although the server is in the middle of the call', async () => {
    const ground = await Ground.start()
    const { strategy } = ground.dialect.locks
    const [holder, waiter] = [await ground.open(), await ground.open('wait')]
    const request = requestFor(nameOf('queue'))
    await strategy.tryLock(holder, request)
    const waiting = strategy.lock?.(waiter, requestFor(request.name), 20_000).catch((error: unknown) => error)
    await ground.waiting(1)
    waiter.destroy()
    await waiting
    await expect.poll(() => ground.server.sessions.size, { timeout: 10_000 }).toBe(1)
  })

  it.each([true, false])('works with ALLOCATE_UNIQUE_AUTONOMOUS there: %s', async (autonomousAllocation) => {
    const ground = await Ground.start({ autonomousAllocation })
    const { strategy } = ground.dialect.locks
    const [holder, other] = [await ground.open(), await ground.open()]
    const request = requestFor(nameOf('either'))
    expect(await strategy.tryLock(holder, request)).toEqual({ status: 'granted' })
    expect(await strategy.tryLock(other, requestFor(request.name))).toEqual({ status: 'refused' })
    expect(await strategy.release(holder, holdingOf(request))).toEqual({ status: 'released' })
  })

  it('never commits what a user has open: no lock travels on a session that is lent', async () => {
    const ground = await Ground.start({ autonomousAllocation: false })
    const lent = await ground.openStore('transaction')
    const connection = await ground.open()
    expect(connection.id).not.toBe(lent.id)
    expect(connection.sql?.client).not.toBe(lent.client)
  })

  it('refuses to act on another session than the one that was opened', async () => {
    const ground = await Ground.start()
    const { locks } = ground.dialect
    const connection = await ground.open()
    const session = [...ground.server.sessions][0]
    Object.defineProperty(session, 'serial', { value: 4_711 }) // as a traffic director would: the same connection, another session
    const error = await errorOf(locks.strategy.tryLock(connection, requestFor(nameOf('elsewhere'))))
    expect(error).toMatchObject({ code: 'SCHED_UNSAFE_POOLER' })
    expect(ground.server.userLocks.rows()).toHaveLength(0)
    expect(locks.classify(error)).toBe('connection-lost')
  })

  it('names the GRANT where the package may not be executed', async () => {
    const ground = await Ground.start({ mayLock: false })
    const { locks } = ground.dialect
    const error = await errorOf(locks.strategy.tryLock(await ground.open(), requestFor(nameOf('denied'))))
    expect(error.message).toContain('GRANT EXECUTE ON SYS.DBMS_LOCK TO')
    expect(locks.classify(error)).toBe('permission')
  })

  it('says whether a lock is held where it may not see who holds it', async () => {
    const ground = await Ground.start({ maySeeSessions: false })
    const { strategy } = ground.dialect.locks
    const [holder, other] = [await ground.open(), await ground.open()]
    const request = requestFor(nameOf('hidden'))
    expect(await strategy.inspect(other, request.name)).toBeNull()
    await strategy.tryLock(holder, request)
    expect((await strategy.inspect(other, request.name))?.notPermitted).toContain('GRANT SELECT ON SYS.GV_$LOCK')
    expect(await strategy.inspect(holder, request.name)).toMatchObject({ sessionId: holder.id })
    const error = await errorOf(ground.dialect.locks.diagnostics?.sessions(other, 'sched:any') ?? Promise.resolve())
    expect(error).toMatchObject({ code: 'SCHED_PERMISSION' })
    expect(error.message).toContain('GRANT SELECT ON SYS.GV_$SESSION')
  })
})
