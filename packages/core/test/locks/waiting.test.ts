import { describe, expect, it } from 'vitest'
import { resolveDialect } from '../../src/dialect/resolve.ts'
import { codeOf, describePlaces, describePostgres, eventually, heldUp, locksOn, pause, shortest } from './places.ts'
import { recordingDialect } from './recording-dialect.ts'

// One scheduling delay of a busy machine, and the connection of a waiting acquire.
const slackMs = 400

describePlaces((place) => {
  it.each([150, 700])('a wait of %d ms ends as SCHED_LOCK_TIMEOUT, not earlier than 0.9 of it, not much later', async (waitMs) => {
    const [here, there] = [locksOn(place), locksOn(place)]
    await here.acquire('busy', { waitMs: 0 })
    await there.tryAcquire('warm')
    // Inside one process (`here`) the wait needs no database.
    for (const waiter of [there, here]) {
      const tookMs = await shortest(async () => {
        const began = performance.now()
        await expect(waiter.acquire('busy', { waitMs })).rejects.toMatchObject({ code: 'SCHED_LOCK_TIMEOUT', retryable: true, details: { name: 'busy', waitMs } })
        return performance.now() - began
      }, waitMs + slackMs)
      expect(tookMs).toBeGreaterThanOrEqual(0.9 * waitMs)
      expect(tookMs).toBeLessThan(waitMs + slackMs)
    }
  })

  it('waitMs 0 is one attempt', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    await here.acquire('busy 0', { waitMs: 0 })
    expect(await codeOf(there.acquire('busy 0', { waitMs: 0 }))).toBe('SCHED_LOCK_TIMEOUT')
  })

  it('a waiter gets the lock soon after the release, in this process and in another', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    for (const [waiter, soonMs] of [[here, 200], [there, 1200]] as const) {
      const tookMs = await shortest(async () => {
        const held = await here.acquire('handover', { waitMs: 20_000 })
        const waiting = waiter.acquire('handover', { waitMs: 20_000 })
        await pause(200)
        const released = performance.now()
        await held.release()
        const lease = await waiting
        const handedOver = performance.now()
        await lease.release()
        return handedOver - released
      }, soonMs)
      expect(tookMs).toBeLessThan(soonMs)
    }
  })

  it('flows of one process take their turns in order of arrival', async () => {
    const locks = locksOn(place)
    const order: number[] = []
    const held = await locks.acquire('queue', { waitMs: 0 })
    const flows = [1, 2, 3, 4, 5].map((flow) => locks.with('queue', () => { order.push(flow) }, { waitMs: 20_000 }))
    await held.release()
    await Promise.all(flows)
    expect(order).toEqual([1, 2, 3, 4, 5])
  })

  it('an abort ends the wait at once with its reason; the lock goes to whoever comes next', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    const held = await here.acquire('aborted', { waitMs: 0 })
    const own = new Error('mine')
    for (const waiter of [here, there]) {
      const controller = new AbortController()
      const waiting = waiter.acquire('aborted', { waitMs: 10_000, signal: controller.signal }).catch((error: unknown) => error)
      await pause(150)
      const [began, heldUpMs] = [performance.now(), heldUp()]
      controller.abort(own)
      expect(await waiting).toBe(own)
      expect(performance.now() - began).toBeLessThan(100 + heldUpMs())
    }
    expect(await codeOf(there.acquire('aborted', { waitMs: 1000, signal: AbortSignal.abort() }))).toBe('SCHED_ABORTED')
    await held.release()
    const lease = await there.acquire('aborted', { waitMs: 10_000 })
    await lease.release()
    await eventually(async () => (await place.residue()).locks === 0)
  })

  it('a storm of aborts at random moments leaves nothing behind', async () => {
    const nodes = [locksOn(place), locksOn(place)]
    const rounds = 200
    let inside = 0
    let most = 0
    let acquired = 0
    await Promise.all(Array.from({ length: 8 }, async (_, worker) => {
      for (let round = worker; round < rounds; round += 8) {
        const controller = new AbortController()
        // One in seven, on either node, has all the time it needs, however slow the database is today.
        const timer = round % 7 === 0 ? undefined : setTimeout(() => controller.abort(), (round * 7919) % 50)
        try {
          const lease = await nodes[round % 2]!.acquire('storm', { waitMs: 30_000, signal: controller.signal })
          inside += 1
          most = Math.max(most, inside)
          acquired += 1
          await pause(round % 3)
          inside -= 1
          expect(await lease.release()).toEqual({ status: 'released' })
        } catch (error) {
          expect(error).toMatchObject({ code: 'SCHED_ABORTED' })
        } finally {
          clearTimeout(timer)
        }
      }
    }))
    expect(most).toBe(1)
    expect(acquired).toBeGreaterThanOrEqual(Math.ceil(rounds / 7))
    await eventually(async () => (await place.residue()).locks === 0)
    // Nobody in this process believes in it either.
    for (const node of nodes) await node.with('storm', () => undefined, { waitMs: 10_000 })
    for (const node of nodes) await node.close()
    await eventually(async () => (await place.residue()).sessions === 0)
  }, 60_000)

  it('close aborts what waits and gives back what is held', async () => {
    const [here, there] = [locksOn(place), locksOn(place)]
    const lease = await here.acquire('closing', { waitMs: 0 })
    await there.tryAcquire('warm')
    const [local, remote] = [codeOf(here.acquire('closing', { waitMs: 10_000 })), codeOf(there.acquire('closing', { waitMs: 10_000 }))]
    await pause(200)
    const began = performance.now()
    await there.close()
    expect(await remote).toBe('SCHED_STOPPED')
    await Promise.all([here.close(), here.close()])
    expect(performance.now() - began).toBeLessThan(5_000)
    expect(await local).toBe('SCHED_STOPPED')
    expect(lease.signal.reason).toMatchObject({ code: 'SCHED_STOPPED' })
    expect(await codeOf(here.tryAcquire('closing'))).toBe('SCHED_STOPPED')
    expect(await codeOf(here.inspect('closing'))).toBe('SCHED_STOPPED')
    await eventually(async () => (await place.residue()).locks === 0)
  })
})

describePostgres((place) => {
  it('P12: waits inside the server, each on a connection of its own, never more than maxWaiting', async () => {
    const { dialect, opened, calls } = recordingDialect(await resolveDialect(place.url))
    const [here, there] = [locksOn(place, { dialect, maxWaiting: 2 }), locksOn(place)]
    const names = ['w1', 'w2', 'w3', 'w4']
    const held = await Promise.all(names.map((name) => there.acquire(name, { waitMs: 0 })))
    const waiting = names.map((name) => here.acquire(name, { waitMs: 30_000 }))
    await eventually(() => opened.filter((purpose) => purpose === 'wait').length === 2)
    await pause(1000)
    expect(opened).toEqual(['pulse', 'wait', 'wait'])
    await Promise.all(held.map((lease) => lease.release()))
    const leases = await Promise.all(waiting)
    expect(new Set(leases.map(({ sessionId }) => sessionId)).size).toBe(3)
    expect(calls.filter(({ method }) => method === 'lock').length).toBeGreaterThanOrEqual(2)
    for (const lease of leases) expect(await lease.release()).toEqual({ status: 'released' })
    // A session that waited ends with its lock.
    await eventually(async () => (await place.query("select 1 from pg_stat_activity where datname = current_database() and application_name like 'sched:%'")).length <= 2)
    await here.close()
    await dialect.close()
  })

  it('a wait is made of slices no longer than a heartbeat', async () => {
    const { dialect, calls } = recordingDialect(await resolveDialect(place.url))
    const [here, there] = [locksOn(place, { dialect, leaseMs: 10_000, heartbeatMs: 200 }), locksOn(place)]
    const held = await there.acquire('sliced', { waitMs: 0 })
    const waiting = here.acquire('sliced', { waitMs: 20_000 })
    const slices = (): typeof calls => calls.filter(({ method }) => method === 'lock')
    await eventually(() => slices().length >= 4)
    await held.release()
    const lease = await waiting
    expect(lease.signal.aborted).toBe(false)
    expect(new Set(slices().map(({ session }) => session)).size).toBe(1)
    await here.close()
    await dialect.close()
  })

  it('a wait never delays the heartbeat or the release of other locks', async () => {
    const [here, there] = [locksOn(place, { leaseMs: 4000, heartbeatMs: 1000 }), locksOn(place)]
    const own = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => here.acquire(name, { waitMs: 0 })))
    await there.acquire('foreign', { waitMs: 0 })
    const waiting = codeOf(here.acquire('foreign', { waitMs: 8000 }))
    await pause(5000)
    for (const { signal } of own) expect(signal.aborted).toBe(false)
    const tookMs = await shortest(async () => {
      const began = performance.now()
      expect(await own.pop()?.release()).toEqual({ status: 'released' })
      return performance.now() - began
    }, 200)
    expect(tookMs).toBeLessThan(200)
    expect(await waiting).toBe('SCHED_LOCK_TIMEOUT')
  })

  describe('a session that is ended while it waits', () => {
    it('is replaced, and the wait goes on', async () => {
      const [here, there] = [locksOn(place), locksOn(place)]
      const held = await there.acquire('ended', { waitMs: 0 })
      const waiting = here.acquire('ended', { waitMs: 10_000 })
      await eventually(async () => (await place.query("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())")).length === 1)
      await pause(300)
      await held.release()
      const lease = await waiting
      expect(await lease.release()).toEqual({ status: 'released' })
    })
  })
})
