import { describe, expect, it } from 'vitest'
import { describePrivatePostgres, describeServer, freshDatabase, proxyFor } from '@sched-dev/databases'
import { resolveDialect } from '../../src/dialect/resolve.ts'
import { codeOf, describePostgres, eventually, heldUp, locksOn, pause } from './places.ts'
import { recordingDialect } from './recording-dialect.ts'

const terminate = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'sched:%'"

describePostgres((place) => {
  describe('P5: the server ends the session', () => {
    it('while it is idle: known without a query, the next acquire of the same and of another name works at once', async () => {
      const [here, there] = [locksOn(place), locksOn(place)]
      for (let round = 0; round < 5; round += 1) {
        const [lease, other] = [await here.acquire('killed', { waitMs: 0 }), await here.acquire('killed too', { waitMs: 0 })]
        let events = 0
        lease.signal.addEventListener('abort', () => { events += 1 })
        const began = performance.now()
        await place.query(terminate)
        await eventually(() => events === 1)
        // Long before the next heartbeat.
        expect(performance.now() - began).toBeLessThan(5_000)
        expect(lease.signal.reason).toMatchObject({ code: 'SCHED_LOCK_LOST' })
        expect(other.signal.aborted).toBe(true)
        expect(await lease.release()).toEqual({ status: 'lost' })
        expect(await codeOf(lease.refresh())).toBe('SCHED_LOCK_LOST')
        // The server tells of the end before it gives back what the session held.
        await eventually(async () => (await place.residue()).sessions === 0)
        await (await there.acquire('killed', { waitMs: 0 })).release()
        await (await here.acquire('killed', { waitMs: 0 })).release()
        await (await here.acquire('killed too', { waitMs: 0 })).release()
      }
      expect(here.events.filter(({ kind }) => kind === 'lock.session-lost')).toHaveLength(5)
      expect(here.events.filter(({ kind }) => kind === 'lock.lost')).toHaveLength(10)
      await here.close()
      await there.close()
      await eventually(async () => { const { sessions, locks } = await place.residue(); return sessions + locks === 0 })
    })

    it('at any moment of heartbeat, refresh and release: never "released" after a loss, never a throw', async () => {
      const here = locksOn(place, { leaseMs: 10_000, heartbeatMs: 5 })
      for (let round = 0; round < 20; round += 1) {
        const lease = await here.acquire('any moment', { waitMs: 10_000 })
        const killing = pause(round % 7).then(() => place.query(terminate))
        const refreshing = round % 2 === 0 ? lease.refresh().catch((error: unknown) => error) : undefined
        await killing
        await eventually(() => lease.signal.aborted)
        await refreshing
        expect(await lease.release()).toEqual({ status: 'lost' })
      }
      await (await here.acquire('any moment', { waitMs: 10_000 })).release()
    })

    it('with: an error of fn is not masked by the loss, and success under a lost lock is no success', async () => {
      const here = locksOn(place)
      const own = new Error('mine')
      await expect(here.with('masked', async (lease) => {
        await place.query(terminate)
        await eventually(() => lease.signal.aborted)
        throw own
      })).rejects.toBe(own)
      await expect(here.with('unguarded', async (lease) => {
        await place.query(terminate)
        await eventually(() => lease.signal.aborted)
      })).rejects.toMatchObject({ code: 'SCHED_LOCK_LOST', cause: { code: 'SCHED_LOCK_LOST' } })
    })
  })

  it('P5: a session that is not ours any more to trust after its idle time is not used', async () => {
    const { dialect, opened } = recordingDialect(await resolveDialect(place.url))
    const here = locksOn(place, { dialect, leaseMs: 2000, heartbeatMs: 300 })
    await here.with('first', () => undefined)
    // Blocked for longer than the server lets the session be idle; the idle timer of ours has not fired either.
    const until = performance.now() + 2300
    while (performance.now() < until) { /* blocks the event loop */ }
    await here.with('second', () => undefined)
    expect(opened).toEqual(['pulse', 'pulse'])
    await here.close()
    await dialect.close()
  })

  it('P5: a blocked event loop: the first look after it is judged, before any timer or event', async () => {
    const [here, there] = [locksOn(place, { leaseMs: 1000, heartbeatMs: 250 }), locksOn(place)]
    const lease = await here.acquire('blocked', { waitMs: 0 })
    let event = false
    lease.signal.addEventListener('abort', () => { event = true })
    const until = performance.now() + 1100
    while (performance.now() < until) { /* blocks the event loop */ }
    expect(event).toBe(false)
    expect(lease.signal.aborted).toBe(true)
    expect(event).toBe(true)
    expect(await lease.release()).toEqual({ status: 'lost' })
    const next = await there.acquire('blocked', { waitMs: 10_000 })
    expect(await next.release()).toEqual({ status: 'released' })
  })
})

describePostgres((place) => {
  it('P5: a lease in a row outlives its connection, however often that is ended', async () => {
    const here = locksOn(place, { leaseMs: 5000, heartbeatMs: 300 })
    const lease = await here.acquire('survives', { waitMs: 0 })
    // For longer than the lease: it must have been renewed in between.
    for (let round = 0; round < 18; round += 1) {
      await place.query(terminate)
      await pause(300)
      expect(lease.signal.aborted).toBe(false)
    }
    expect(await lease.release()).toEqual({ status: 'released' })
    await (await here.acquire('survives', { waitMs: 0 })).release()
  })

  it('P5: a blocked event loop: the first look is judged; the row can be taken, and the old holder touches nothing', async () => {
    const [here, there] = [locksOn(place, { leaseMs: 1000, heartbeatMs: 250 }), locksOn(place)]
    const lease = await here.acquire('blocked', { waitMs: 0 })
    const until = performance.now() + 1100
    while (performance.now() < until) { /* blocks the event loop */ }
    expect(lease.signal.aborted).toBe(true)
    const next = await there.acquire('blocked', { waitMs: 10_000 })
    expect(next.fencingToken).toBeGreaterThan(lease.fencingToken!)
    expect(await lease.release()).toEqual({ status: 'lost' })
    await next.refresh()
    expect(next.signal.aborted).toBe(false)
  })
}, true)

describeServer('postgres', (server) => {
  it.each(['', 'locktable+'])('P5: a network that swallows everything (%s): lost within the lease, and the next acquire works when it is back', async (prefix) => {
    await using database = await freshDatabase(server.url)
    await using proxy = await proxyFor(server.url)
    const here = locksOn({ url: prefix + proxy.url(database.url) }, { leaseMs: 1500, heartbeatMs: 300, openMs: 3000 })
    const there = locksOn({ url: prefix + database.url })
    const lease = await here.acquire('hole', { waitMs: 0 })
    let lostAt = 0
    lease.signal.addEventListener('abort', () => { lostAt = performance.now() })
    const [began, heldUpMs] = [performance.now(), heldUp()]
    proxy.blackhole()
    await eventually(() => lostAt > 0)
    expect(lostAt - began).toBeLessThan(1500 + heldUpMs())
    // A waiter looks once a second; the rest is slack for a busy server.
    const next = await there.acquire('hole', { waitMs: 20_000 })
    expect(performance.now() - began).toBeLessThan(1500 + 1000 + 3500)
    expect(await lease.release()).toEqual({ status: 'lost' })
    // P10: what does not answer is not "refused".
    expect(await codeOf(here.tryAcquire('hole'))).toMatch(/^SCHED_(DATABASE_UNREACHABLE|QUERY_TIMEOUT)$/)
    await proxy.heal()
    expect(await here.tryAcquire('hole')).toEqual({ status: 'refused' })
    await next.release()
    await (await here.acquire('hole', { waitMs: 10_000 })).release()
    await here.close()
    await there.close()
  })

  it('P5: a cut connection takes native locks along, at once; the next acquire works', async () => {
    await using database = await freshDatabase(server.url)
    await using proxy = await proxyFor(server.url)
    const here = locksOn({ url: proxy.url(database.url) })
    const lease = await here.acquire('cut', { waitMs: 0 })
    const [began, heldUpMs] = [performance.now(), heldUp()]
    proxy.cut()
    await eventually(() => lease.signal.aborted)
    expect(performance.now() - began).toBeLessThan(500 + heldUpMs())
    expect(await lease.release()).toEqual({ status: 'lost' })
    await eventually(async () => (await here.tryAcquire('cut')).status === 'acquired')
    await here.close()
  })

  it.each(['', 'locktable+'])('P3: the answer to a lock is lost (%s): no lock stays behind, no second holder', async (prefix) => {
    await using database = await freshDatabase(server.url)
    await using proxy = await proxyFor(server.url)
    const here = locksOn({ url: prefix + proxy.url(database.url) })
    const there = locksOn({ url: prefix + database.url })
    await here.with('warm', () => undefined)
    for (let round = 0; round < 5; round += 1) {
      const cut = proxy.cutAfterClientBytes((bytes) => bytes.includes(prefix === '' ? 'pg_try_advisory_lock' : 'sched_locks'))
      const outcome = await here.tryAcquire('answer').catch((error: unknown) => error)
      await cut
      if (typeof outcome === 'object' && outcome !== null && 'lease' in outcome) {
        expect(await there.tryAcquire('answer')).toEqual({ status: 'refused' })
        expect(await (outcome.lease as { release(): Promise<unknown> }).release()).toEqual({ status: 'released' })
      } else expect(outcome).toMatchObject({ code: 'SCHED_SESSION_LOST' })
      const next = await there.acquire('answer', { waitMs: 10_000 })
      await next.release()
    }
    await here.close()
    await there.close()
  })
})

describePrivatePostgres('newest', (start) => {
  it('P10: a server that restarts while locks are held and waited for: holders learn it, waiters go on, the next acquire works', async () => {
    await using postgres = await start()
    const { dialect, calls } = recordingDialect(await resolveDialect(postgres.url))
    const [here, there] = [locksOn({ url: postgres.url }), locksOn({ url: postgres.url }, { dialect })]
    const lease = await here.acquire('restart', { waitMs: 0 })
    const waiting = there.acquire('restart', { waitMs: 60_000 })
    await eventually(() => calls.some(({ method }) => method === 'lock'))
    await postgres.stop('immediate')
    await eventually(() => lease.signal.aborted)
    expect(await lease.release()).toEqual({ status: 'lost' })
    expect(await codeOf(here.tryAcquire('restart'))).toBe('SCHED_DATABASE_UNREACHABLE')
    expect(await codeOf(here.acquire('restart', { waitMs: 500 }))).toBe('SCHED_DATABASE_UNREACHABLE')
    expect(await codeOf(here.inspect('restart'))).toBe('SCHED_DATABASE_UNREACHABLE')
    await postgres.start()
    const next = await waiting
    expect(await here.tryAcquire('restart')).toEqual({ status: 'refused' })
    expect(await next.release()).toEqual({ status: 'released' })
    await (await here.acquire('restart', { waitMs: 10_000 })).release()
    await here.close()
    await there.close()
    await dialect.close()
  }, 90_000)

  it('P5: a frozen server is no proof: the lease is over in time, a close has its deadline', async () => {
    await using postgres = await start()
    const here = locksOn({ url: postgres.url }, { leaseMs: 1500, heartbeatMs: 300 })
    const lease = await here.acquire('frozen', { waitMs: 0 })
    await postgres.freeze()
    const [began, heldUpMs] = [performance.now(), heldUp()]
    await eventually(() => lease.signal.aborted)
    expect(performance.now() - began).toBeLessThan(1500 + heldUpMs())
    const [closing, heldUpSinceMs] = [performance.now(), heldUp()]
    await here.close({ deadlineMs: 500 })
    expect(performance.now() - closing).toBeLessThan(1000 + heldUpSinceMs())
    postgres.thaw()
  }, 60_000)
})
