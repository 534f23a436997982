import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { describeServer } from '@sched-dev/databases'
import { lockName } from '@sched/core/spi'
import { advisoryStrategy as locks } from '../src/locks/advisory-strategy.ts'
import { advisoryLocks, emptyDatabase, eventually, holding, name, onlooker, openLocks, request } from './support/scene.ts'

describeServer(['postgres', 'postgres-middle', 'postgres-oldest', 'pgbouncer-session'], ({ url: serverUrl }) => {
  it('grants a lock to one session, and contention is a result, not an error (P10)', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, two] = [await openLocks({ url }), await openLocks({ url })]
    expect(await locks.tryLock(one, request('a'))).toEqual({ status: 'granted' })
    expect(await locks.tryLock(two, request('a'))).toEqual({ status: 'refused' })
    expect(await locks.tryLock(two, request('b'))).toEqual({ status: 'granted' })
  })

  it('releases on the session that holds it and on no other (P3, P4)', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, two] = [await openLocks({ url }), await openLocks({ url })]
    await locks.tryLock(one, request('a'))
    expect(await locks.release(two, holding('a'))).toEqual({ status: 'not-held' })
    expect(await locks.tryLock(two, request('a'))).toEqual({ status: 'refused' })
    expect(await locks.release(one, holding('a'))).toEqual({ status: 'released' })
    expect(await locks.release(one, holding('a'))).toEqual({ status: 'not-held' })
    expect(await locks.tryLock(two, request('a'))).toEqual({ status: 'granted' })
  })

  it('says of a lock whether it is mine, held by another, or free', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, two] = [await openLocks({ url }), await openLocks({ url })]
    expect(await locks.isHeld(one, holding('a'))).toBe('free')
    await locks.tryLock(one, request('a'))
    expect([await locks.isHeld(one, holding('a')), await locks.isHeld(two, holding('a')), await locks.isHeld(one, holding('b'))]).toEqual(['mine', 'other', 'free'])
  })

  it('keeps names apart that differ by case, trailing space, kind or namespace, at every sign of the key', async () => {
    const url = await emptyDatabase(serverUrl)
    const one = await openLocks({ url })
    const names = [name('a'), name('A'), name('a '), lockName('test', 'task', 'a'), lockName('other', 'user', 'a'), name('ä'), name('锁'), name('🔒')]
    for (const each of names) expect(await locks.tryLock(one, { ...request('-'), name: each })).toEqual({ status: 'granted' })
    for (const each of names) expect(await locks.isHeld(one, { ...holding('-'), name: each })).toBe('mine')
    expect(await advisoryLocks(await onlooker(url))).toBe(names.length)
    for (const each of names) expect(await locks.release(one, { ...holding('-'), name: each })).toEqual({ status: 'released' })
    expect(await advisoryLocks(await onlooker(url))).toBe(0)
  })

  it('is not the lock of another application with the same number in the space of two keys', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, other] = [await openLocks({ url }), await onlooker(url)]
    await other.query('select pg_advisory_lock(738721176, -1591929152)')
    expect(await locks.isHeld(one, { ...holding('-'), name: lockName('billing', 'user', 'daily-cleanup') })).toBe('free')
  })

  it('waits inside the server and is granted when the holder lets go', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, two] = [await openLocks({ url }), await openLocks({ url }, { purpose: 'wait' })]
    await locks.tryLock(one, request('a'))
    const began = performance.now()
    const waiting = locks.lock!(two, request('a'), 20_000)
    const releasing = sleep(200).then(() => locks.release(one, holding('a')))
    expect(await Promise.all([waiting, releasing])).toEqual([{ status: 'granted' }, { status: 'released' }])
    expect(performance.now() - began).toBeGreaterThan(150)
    expect(performance.now() - began).toBeLessThan(10_000)
    expect(await locks.isHeld(two, holding('a'))).toBe('mine')
  })

  it('gives up a wait at its limit, longer than the limits of the session, and leaves no setting behind', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, two] = [await openLocks({ url }), await openLocks({ url }, { purpose: 'wait', leaseMs: 2_000 })] // statements: 500 ms, rows: 250 ms
    await locks.tryLock(one, request('a'))
    const before = await two.sql.run({ text: "SELECT current_setting('lock_timeout') AS l, current_setting('statement_timeout') AS s", params: [] })
    const began = performance.now()
    expect(await locks.lock!(two, request('a'), 600)).toEqual({ status: 'refused' })
    expect(performance.now() - began).toBeGreaterThanOrEqual(590)
    expect(before.rows).toEqual([{ l: '250ms', s: '500ms' }])
    expect(await two.sql.run({ text: "SELECT current_setting('lock_timeout') AS l, current_setting('statement_timeout') AS s", params: [] })).toEqual(before)
    expect(await locks.lock!(two, request('a'), 0.2)).toEqual({ status: 'refused' }) // a fraction is not "for ever"
    expect(await locks.lock!(two, request('b'), 0.2)).toEqual({ status: 'granted' })
  })

  it('answers a waiter of a free lock at once, whatever the sign of its key', async () => {
    const url = await emptyDatabase(serverUrl)
    const one = await openLocks({ url }, { purpose: 'wait' })
    const texts = Array.from({ length: 16 }, (_, index) => `n${index}`)
    for (const text of texts) expect(await locks.lock!(one, request(text), 1_000)).toEqual({ status: 'granted' })
    for (const text of texts) expect(await locks.isHeld(one, holding(text))).toBe('mine')
  })

  it('proves a session alive with one statement, however many locks it holds (P12)', async () => {
    const url = await emptyDatabase(serverUrl)
    const one = await openLocks({ url })
    const texts = Array.from({ length: 100 }, (_, index) => `n${index}`)
    for (const text of texts) await locks.tryLock(one, request(text))
    expect(await locks.refresh(one, texts.map(holding), 10_000)).toEqual({ lost: [] })
  })

  it('is not undone by transactions on its session, so that the heartbeat may run there', async () => {
    const url = await emptyDatabase(serverUrl)
    const one = await openLocks({ url })
    await one.sql.begin()
    await locks.tryLock(one, request('a'))
    await one.sql.rollback()
    await one.sql.begin()
    await expect(one.sql.run({ text: 'SELECT 1 / 0', params: [] })).rejects.toMatchObject({ code: '22012' })
    await one.sql.rollback()
    expect(await locks.isHeld(one, holding('a'))).toBe('mine')
  })

  it('frees everything when the session is destroyed, a waiter too (P3)', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, two, looker] = [await openLocks({ url }), await openLocks({ url }, { purpose: 'wait' }), await onlooker(url)]
    await locks.tryLock(one, request('a'))
    const waiting = locks.lock!(two, request('a'), 60_000)
    await eventually(async () => (await looker.query('select 1 from pg_locks where not granted and pid = $1', [two.id])).rows.length === 1)
    two.destroy()
    two.destroy()
    await expect(waiting).rejects.toThrow('Connection terminated')
    one.destroy()
    await eventually(async () => await advisoryLocks(looker) === 0)
    await expect(one.ping()).rejects.toThrow()
  })
})
