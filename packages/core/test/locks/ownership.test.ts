import { describe, expect, it } from 'vitest'
import { resolveDialect } from '../../src/dialect/resolve.ts'
import { describePlaces, describePostgres, describeTables, eventually, locksOn, pause } from './places.ts'
import { recordingDialect } from './recording-dialect.ts'

describePlaces((place) => {
  it('acquires, refuses everybody else and the owner, and is free again after the release', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    const lease = await here.acquire('basic', { waitMs: 0 })
    expect(lease).toMatchObject({ name: 'basic', owner: expect.stringMatching(/^[0-9a-f]{32}$/) as string })
    expect(lease.signal.aborted).toBe(false)
    expect(await here.tryAcquire('basic')).toEqual({ status: 'refused' })
    expect(await there.tryAcquire('basic')).toEqual({ status: 'refused' })
    expect(here.list()).toEqual([{ name: 'basic', owner: lease.owner, fencingToken: lease.fencingToken, sessionId: lease.sessionId }])
    expect(there.list()).toEqual([])
    expect(await here.inspect('basic')).not.toBeNull()
    expect(await there.inspect('basic')).toMatchObject(place.tokens ? { owner: lease.owner, fencingToken: lease.fencingToken } : { sessionId: lease.sessionId })
    expect(await lease.release()).toEqual({ status: 'released' })
    expect(await lease.release()).toEqual({ status: 'released' })
    expect(here.list()).toEqual([])
    expect(await there.inspect('basic')).toBeNull()
    const next = await there.tryAcquire('basic')
    expect(next.status).toBe('acquired')
    // A late release of the old holder does not free the new one's.
    expect(await lease.release()).toEqual({ status: 'released' })
    expect(await here.tryAcquire('basic')).toEqual({ status: 'refused' })
    expect(lease.signal.aborted).toBe(false)
  })

  it('names are independent, and differ by case, trailing space and kind of Unicode', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    const names = ['order', 'Order', 'order ', "o'; DROP TABLE sched_locks; --", '\u{1F512}', 'a~b', 'x'.repeat(255)]
    for (const name of names) expect((await here.tryAcquire(name)).status).toBe('acquired')
    for (const name of names) expect((await there.tryAcquire(name)).status).toBe('refused')
    expect(here.list().map(({ name }) => name)).toEqual(names)
  })

  it('namespaces do not see each other', async () => {
    const [a, b] = [locksOn(place, { namespace: 'a' }), locksOn(place, { namespace: 'b' })]
    expect((await a.tryAcquire('same')).status).toBe('acquired')
    expect((await b.tryAcquire('same')).status).toBe('acquired')
  })

  it('P3: the classic accident: 50 flows and two nodes, none is freed early', async () => {
    const nodes = [locksOn(place), locksOn(place)]
    let inside = 0
    let most = 0
    let runs = 0
    await Promise.all(Array.from({ length: 50 }, async (_, flow) => {
      const locks = nodes[flow % 2]!
      await using lease = await locks.acquire('batch', { waitMs: 60_000 })
      inside += 1
      most = Math.max(most, inside)
      await pause(flow % 4)
      expect(lease.signal.aborted).toBe(false)
      inside -= 1
      runs += 1
    }))
    expect({ most, runs }).toEqual({ most: 1, runs: 50 })
    expect((await place.residue()).locks).toBe(0)
  }, 90_000)

  it('P3: releasing one of 50 locks frees that one and no other', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    const leases = await Promise.all(Array.from({ length: 50 }, (_, index) => here.acquire(`flow ${index}`, { waitMs: 0 })))
    await Promise.all(leases.filter((_, index) => index % 2 === 0).map((lease) => lease.release()))
    const free = await Promise.all(leases.map(async ({ name }) => (await there.tryAcquire(name)).status === 'acquired'))
    expect(free).toEqual(leases.map((_, index) => index % 2 === 0))
    for (const lease of leases.filter((_, index) => index % 2 === 1)) expect(await lease.release()).toEqual({ status: 'released' })
  })

  it('with: holds while fn runs, passes its value and its error on, and frees the lock either way', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    const value = await here.with('with', async (lease) => {
      expect(await there.tryAcquire('with')).toEqual({ status: 'refused' })
      expect(lease.signal.aborted).toBe(false)
      return 42
    })
    expect(value).toBe(42)
    const own = new TypeError('mine')
    await expect(here.with('with', () => { throw own })).rejects.toBe(own)
    expect((await there.tryAcquire('with')).status).toBe('acquired')
  })

  it('await using gives it back, also when the block throws', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    const own = new Error('mine')
    await expect((async () => {
      await using lease = await here.acquire('using', { waitMs: 0 })
      expect(lease.signal.aborted).toBe(false)
      throw own
    })()).rejects.toBe(own)
    expect((await there.tryAcquire('using')).status).toBe('acquired')
  })

  it('no think time: 100 rounds of acquire, refresh and release', async () => {
    const locks = locksOn(place, { leaseMs: 10_000, heartbeatMs: 20 })
    for (let round = 0; round < 100; round += 1) {
      const lease = await locks.acquire('round', { waitMs: 0 })
      const refreshing = round % 3 === 0 ? lease.refresh() : Promise.resolve()
      const releasing = lease.release()
      await refreshing.catch((error: unknown) => expect(error).toMatchObject({ code: 'SCHED_LOCK_LOST' }))
      expect(await releasing).toEqual({ status: 'released' })
    }
    expect(locks.events).toEqual([])
    expect((await place.residue()).locks).toBe(0)
  })

  it('keeps a lock for longer than its lease by the heartbeat', async () => {
    const [here, there] = [locksOn(place, { leaseMs: 4000, heartbeatMs: 500 }), locksOn(place)]
    const lease = await here.acquire('kept', { waitMs: 0 })
    for (let round = 0; round < 10; round += 1) {
      await pause(500)
      expect(lease.signal.aborted).toBe(false)
      expect(await there.tryAcquire('kept')).toEqual({ status: 'refused' })
    }
    expect(await lease.release()).toEqual({ status: 'released' })
  })
})

describeTables((place) => {
  it('P4: whoever is not the owner cannot release or renew: the row of another stays untouched', async () => {
    const here = locksOn(place, { leaseMs: 1000, heartbeatMs: 300 })
    const lease = await here.acquire('stolen', { waitMs: 0 })
    const placeholders = place.kind === 'sqlite' ? ['?', '?'] : ['$1', '$2']
    await place.query(`update sched_locks set lock_owner = ${placeholders[0]} , fencing_token = fencing_token + 1, expires_at = expires_at + 60000 where lock_owner = ${placeholders[1]}`, ['thief', lease.owner])
    await expect(lease.refresh()).rejects.toMatchObject({ code: 'SCHED_LOCK_LOST' })
    expect(lease.signal.aborted).toBe(true)
    expect(lease.signal.reason).toMatchObject({ code: 'SCHED_LOCK_LOST' })
    expect(await lease.release()).toEqual({ status: 'lost' })
    const rows = await place.query("select lock_owner from sched_locks where lock_owner = 'thief'")
    expect(rows).toHaveLength(1)
    await expect(here.with('stolen too', async (guard) => {
      await place.query(`update sched_locks set lock_owner = ${placeholders[0]} where lock_owner = ${placeholders[1]}`, ['thief', guard.owner])
    })).rejects.toMatchObject({ code: 'SCHED_LOCK_LOST' })
  })

  it('P7: tokens only grow, from grant to grant and after the row was deleted', async () => {
    const nodes = [locksOn(place), locksOn(place)]
    let last = 0
    for (let round = 0; round < 20; round += 1) {
      const token = await nodes[round % 2]!.with('fenced', (lease) => lease.fencingToken, { waitMs: 1000 })
      expect(token).toBeGreaterThan(last)
      last = token!
      if (round === 10) await place.query('delete from sched_locks')
      await pause(1)
    }
  })
})

describePostgres((place) => {
  it('P3: acquire, refresh and release travel on one physical session, however many locks', async () => {
    const { dialect, calls, opened } = recordingDialect(await resolveDialect(place.url))
    const locks = locksOn(place, { dialect, leaseMs: 10_000, heartbeatMs: 100 })
    const leases = await Promise.all(['a', 'b', 'c'].map((name) => locks.acquire(name, { waitMs: 0 })))
    await pause(350)
    await leases[0]!.refresh()
    for (const lease of leases) {
      expect(await lease.release()).toEqual({ status: 'released' })
      const sessions = new Set(calls.filter(({ names }) => names.includes(lease.name)).map(({ session }) => session))
      expect([...sessions]).toEqual([lease.sessionId])
    }
    expect(opened).toEqual(['pulse'])
    await locks.close()
    await dialect.close()
  })

  it('P3: a lock that was waited for lives, and is released, on the session that waited', async () => {
    const { dialect, calls } = recordingDialect(await resolveDialect(place.url))
    const [here, there] = [locksOn(place, { dialect, leaseMs: 10_000, heartbeatMs: 250 }), locksOn(place)]
    const held = await there.acquire('handed over', { waitMs: 0 })
    const waiting = here.acquire('handed over', { waitMs: 20_000 })
    await eventually(() => calls.some(({ method }) => method === 'lock'))
    await held.release()
    const lease = await waiting
    // The first proves the end of the wait; those that follow are heartbeats.
    await eventually(() => calls.filter(({ method, session }) => method === 'refresh' && session === lease.sessionId).length >= 3)
    expect(lease.signal.aborted).toBe(false)
    await lease.release()
    const sessionOf = (method: string): unknown => calls.findLast((call) => call.method === method)?.session
    expect(sessionOf('lock')).toBe(lease.sessionId)
    expect(sessionOf('refresh')).toBe(lease.sessionId)
    expect(sessionOf('release')).toBe(lease.sessionId)
    await here.close()
    await dialect.close()
  })

  describe('P7: fencing tokens of native locks', () => {
    it('grow with every grant, also after the row was deleted, and are drawn on the pinned session', async () => {
      const nodes = [locksOn(place, { fencing: true }), locksOn(place, { fencing: true })]
      let last = 0
      for (let round = 0; round < 10; round += 1) {
        const lease = await nodes[round % 2]!.acquire('fenced', { waitMs: 1000 })
        expect(lease.fencingToken).toBeGreaterThan(last)
        last = lease.fencingToken!
        await lease.release()
        if (round === 5) await place.query('delete from sched_locks')
        await pause(1)
      }
      // A clock that stepped back does not make them fall.
      await place.query('update sched_locks set fencing_token = fencing_token + 1000000')
      expect(await nodes[0]!.with('fenced', (lease) => lease.fencingToken)).toBeGreaterThan(last + 1_000_000)
    })

    it('are absent unless asked for', async () => {
      expect(await locksOn(place).with('plain', (lease) => lease.fencingToken)).toBeUndefined()
    })

    it('give the lock back when they cannot be drawn', async () => {
      const [here, there] = [locksOn(place, { fencing: true }), locksOn(place)]
      await here.with('first', () => undefined)
      await place.query('drop table sched_locks')
      await expect(here.tryAcquire('second')).rejects.toMatchObject({ code: 'SCHED_TABLE_MISSING' })
      // Behind the error, not before it.
      await eventually(async () => (await there.tryAcquire('second')).status === 'acquired')
    })
  })
})
