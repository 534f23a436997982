import { expect, it } from 'vitest'
import { resolveDialect } from '../../src/dialect/resolve.ts'
import { describePlaces, describePostgres, eventually, locksOn, pause } from './places.ts'
import { recordingDialect } from './recording-dialect.ts'

describePlaces((place) => {
  it('P12: 200 acquire and release cycles use one session and leave no residue', async () => {
    const { dialect, opened } = recordingDialect(await resolveDialect(place.url))
    const locks = locksOn(place, { dialect })
    for (let round = 0; round < 200; round += 1) await (await locks.acquire(`cycle ${round % 7}`, { waitMs: 1000 })).release()
    expect(opened).toEqual(['pulse'])
    expect(await place.residue()).toEqual({ sessions: place.kind === 'sqlite' ? 0 : 1, locks: 0 })
    await locks.close()
    await dialect.close()
    await eventually(async () => (await place.residue()).sessions === 0)
  }, 60_000)

  it('P12: nothing held: no heartbeat, and soon no session', async () => {
    const { dialect, opened, calls } = recordingDialect(await resolveDialect(place.url))
    const locks = locksOn(place, { dialect, leaseMs: 10_000, heartbeatMs: 300 })
    const lease = await locks.acquire('brief', { waitMs: 0 })
    await eventually(() => calls.some(({ method }) => method === 'refresh'))
    await lease.release()
    const sent = calls.length
    await pause(1200)
    expect(calls).toHaveLength(sent)
    await eventually(async () => { const { sessions, locks } = await place.residue(); return sessions + locks === 0 })
    expect(calls).toHaveLength(sent)
    // And opened again when needed.
    await locks.with('brief', () => undefined)
    expect(opened).toEqual(['pulse', 'pulse'])
    expect(locks.events).toEqual([])
    await locks.close()
    await dialect.close()
  })

  it('P12: one session and one renewal per heartbeat, however many locks are held', async () => {
    const { dialect, opened, calls } = recordingDialect(await resolveDialect(place.url))
    const locks = locksOn(place, { dialect, leaseMs: 20_000, heartbeatMs: 500 })
    const leases = await Promise.all(Array.from({ length: 300 }, (_, index) => locks.acquire(`many ${index}`, { waitMs: 0 })))
    const sent = (): number => calls.filter(({ method }) => method === 'refresh').length
    const [before, began] = [sent(), performance.now()]
    await pause(2200)
    await eventually(() => sent() >= before + 3)
    const beats = sent() - before
    expect(beats).toBeLessThanOrEqual((performance.now() - began) / 500 + 1)
    expect(opened).toEqual(['pulse'])
    for (const lease of leases) expect(lease.signal.aborted).toBe(false)
    const released = await Promise.all(leases.map((lease) => lease.release()))
    expect(released.every(({ status }) => status === 'released')).toBe(true)
    expect((await place.residue()).locks).toBe(0)
    await locks.close()
    await dialect.close()
  }, 60_000)
})

describePostgres((place) => {
  it('P12: no statement of ours runs for long, and none is open, while a lock is held', async () => {
    const locks = locksOn(place, { leaseMs: 10_000, heartbeatMs: 100 })
    await using lease = await locks.acquire('watched', { waitMs: 0 })
    for (let look = 0; look < 20; look += 1) {
      const rows = await place.query("select state, xact_start from pg_stat_activity where datname = current_database() and application_name like 'sched:%'")
      expect(rows.every(({ state }) => state !== 'idle in transaction')).toBe(true)
      await pause(20)
    }
    expect(lease.signal.aborted).toBe(false)
  })
})
