import { describe, expect, it } from 'vitest'
import type { LockOutcome } from '@sched/core/spi'
import { classifySqlServer } from '../src/errors/classify.ts'
import { applockStrategy as locks } from '../src/locks/applock-strategy.ts'
import { eventually, holding, name, openLocks, request, startStandIn } from './support/scene.ts'
import type { TdsServerStandIn } from './stand-in/tds-server-stand-in.ts'

const somebodyWaits = ({ applocks }: TdsServerStandIn): Promise<boolean> => eventually(() => applocks.rows().some(({ status }) => status === 'WAIT'))
const lock = (...parameters: Parameters<NonNullable<typeof locks.lock>>): Promise<LockOutcome> => locks.lock!(...parameters)

describe('application locks on the TDS stand-in: return codes of sp_getapplock', () => {
  it('0 is granted at once, 1 after waiting, -1 refused, whether it waited or not', async () => {
    const standIn = await startStandIn()
    const { url } = standIn
    const [one, two] = [await openLocks({ url }), await openLocks({ url })]
    expect(await locks.tryLock(one, request('a'))).toEqual({ status: 'granted' })
    expect(await locks.tryLock(two, request('a'))).toEqual({ status: 'refused' })
    expect(await lock(two, request('a'), 50)).toEqual({ status: 'refused' })
    const waiting = lock(two, request('a'), 10_000)
    await somebodyWaits(standIn)
    expect(await locks.release(one, holding('a'))).toEqual({ status: 'released' })
    expect(await waiting).toEqual({ status: 'granted' })
    expect(await locks.isHeld(two, holding('a'))).toBe('mine')
  })

  it.each<[number | 'none', LockOutcome['status']]>([[0, 'granted'], [1, 'granted'], [7, 'granted'], [-1, 'refused'], [-2, 'indeterminate'], ['none', 'indeterminate']])('%s is %s', async (code, status) => {
    const standIn = await startStandIn()
    const one = await openLocks({ url: standIn.url })
    standIn.faults.getapplock.push(code, code)
    expect((await locks.tryLock(one, request('a'))).status).toBe(status)
    expect((await lock(one, request('a'), 100)).status).toBe(status)
  })

  it.each([[-3, 'deadlock'], [-999, 'unknown'], [-5, 'unknown']])('%s comes without an error and rejects, class %s (P10)', async (code, errorClass) => {
    const standIn = await startStandIn()
    const one = await openLocks({ url: standIn.url })
    standIn.faults.getapplock.push(code)
    const error: unknown = await lock(one, request('a'), 100).catch((reason: unknown) => reason)
    expect(classifySqlServer(error)).toBe(errorClass)
    expect((error as Error).message).toContain(String(code))
  })

  it('-3 is what one of two sessions gets that wait for each other, and both keep what they have', async () => {
    const standIn = await startStandIn()
    const { url } = standIn
    const [one, two] = [await openLocks({ url }), await openLocks({ url })]
    await locks.tryLock(one, request('a'))
    await locks.tryLock(two, request('b'))
    const waiting = lock(one, request('b'), 10_000)
    await somebodyWaits(standIn)
    await expect(lock(two, request('a'), 10_000)).rejects.toMatchObject({ code: 'SCHED_DEADLOCK', retryable: true })
    expect(await locks.isHeld(two, holding('b'))).toBe('mine')
    await locks.release(two, holding('b'))
    expect(await waiting).toEqual({ status: 'granted' })
  })
})

describe('application locks on the TDS stand-in: release', () => {
  it('error 1223 is "not held", and the session goes on', async () => {
    const { url } = await startStandIn()
    const one = await openLocks({ url })
    expect(await locks.release(one, holding('a'))).toEqual({ status: 'not-held' })
    await one.ping()
  })

  it('-999 without an error, as a peer says it, is decided by APPLOCK_MODE', async () => {
    const { url } = await startStandIn({ kind: 'peer' })
    const one = await openLocks({ url })
    expect(await locks.release(one, holding('a'))).toEqual({ status: 'not-held' })
    await locks.tryLock(one, request('a'))
    expect(await locks.release(one, holding('a'))).toEqual({ status: 'released' })
  })

  it('is counted: what was taken twice is held after one release', async () => {
    const { url } = await startStandIn()
    const one = await openLocks({ url })
    await locks.tryLock(one, request('a'))
    await locks.tryLock(one, request('a'))
    await locks.release(one, holding('a'))
    expect(await locks.isHeld(one, holding('a'))).toBe('mine')
  })

  it('does not come from a transaction of the same session: COMMIT and ROLLBACK leave it', async () => {
    const { url } = await startStandIn()
    const one = await openLocks({ url })
    for (const end of ['commit', 'rollback'] as const) {
      await one.sql.begin()
      await locks.tryLock(one, request(end))
      await one.sql[end]()
      expect(await locks.isHeld(one, holding(end))).toBe('mine')
    }
  })
})

describe('application locks on the TDS stand-in: cancel and loss', () => {
  it('a grant that crosses the attention of the driver\'s limit is indeterminate, and isHeld says that it is held (P3)', async () => {
    const standIn = await startStandIn()
    const one = await openLocks({ url: standIn.url }, { leaseMs: 4_000 }) // the driver's limit for a try is a quarter
    standIn.faults.grantCrossesAttention = true
    expect((await locks.tryLock(one, request('a'))).status).toBe('indeterminate')
    expect(await locks.isHeld(one, holding('a'))).toBe('mine')
    expect(await locks.release(one, holding('a'))).toEqual({ status: 'released' })
  })

  it('an attention that is not answered ends the connection, which says so', async () => {
    const standIn = await startStandIn()
    const { port, options } = standIn
    const one = await openLocks({ config: { server: '127.0.0.1', options: { port, encrypt: false, database: options.database, cancelTimeout: 100 }, authentication: { type: 'default', options: { userName: 'sched', password: options.accounts['sched']!.password } } } }, { leaseMs: 2_000 })
    const lost: Error[] = []
    one.onLost?.((cause) => { lost.push(cause) })
    standIn.faults.ignoresAttention = true
    standIn.faults.grantCrossesAttention = true
    const error: unknown = await locks.tryLock(one, request('a')).catch((reason: unknown) => reason)
    expect(classifySqlServer(error)).toBe('connection-lost')
    await eventually(() => lost.length === 1)
    standIn.faults.ignoresAttention = false
    expect(await locks.isHeld(await openLocks({ url: standIn.url }), holding('a'))).toBe('free')
  })

  it('a waiter that is destroyed takes nothing, and the end of the holder\'s session frees what it had', async () => {
    const standIn = await startStandIn()
    const [one, two] = [await openLocks({ url: standIn.url }), await openLocks({ url: standIn.url })]
    await locks.tryLock(one, request('a'))
    const waiting = lock(two, request('a'), 10_000).then(() => 'granted', (error: unknown) => classifySqlServer(error))
    await somebodyWaits(standIn)
    two.destroy()
    expect(await waiting).toBe('connection-lost')
    one.destroy()
    await eventually(() => standIn.applocks.rows().length === 0)
  })

  it('a lost answer rejects; the lock goes with the session', async () => {
    const standIn = await startStandIn()
    const one = await openLocks({ url: standIn.url })
    standIn.faults.drop.push({ request: 'getapplock', at: 'answer' })
    await expect(locks.tryLock(one, request('a'))).rejects.toSatisfy((error) => classifySqlServer(error) === 'connection-lost')
    expect(await locks.tryLock(await openLocks({ url: standIn.url }), request('a'))).toEqual({ status: 'granted' })
  })
})

describe('application locks on the TDS stand-in: who holds it', () => {
  it('names the session by what sys.dm_tran_locks shows, also of names that begin alike', async () => {
    const { url } = await startStandIn()
    const [one, two, three] = [await openLocks({ url }, { label: 'sched:test:one:1' }), await openLocks({ url }), await openLocks({ url })]
    const long = 'x'.repeat(60)
    await locks.tryLock(one, request(`${long}a`))
    await locks.tryLock(two, request(`${long}b`))
    await locks.tryLock(two, request('order-1'))
    await locks.tryLock(one, request('order-12'))
    expect(await locks.inspect(three, name(`${long}a`))).toMatchObject({ sessionId: one.id, ownerLabel: 'sched:test:one:1', user: 'sched' })
    expect((await locks.inspect(three, name(`${long}b`)))?.sessionId).toBe(two.id)
    expect((await locks.inspect(three, name('order-1')))?.sessionId).toBe(two.id)
    expect(await locks.inspect(three, name(`${long}c`))).toBeNull()
  })

  it('says what to grant where the view is not permitted, and that there is none where there is none', async () => {
    for (const [standIn, text] of [[await startStandIn(), 'GRANT VIEW SERVER STATE'], [await startStandIn({ kind: 'peer' }), 'no sys.dm_tran_locks']] as const) {
      const url = standIn.urlOf('limited')
      const [one, two] = [await openLocks({ url }), await openLocks({ url })]
      expect(await locks.inspect(two, name('a'))).toBeNull()
      await locks.tryLock(one, request('a'))
      expect((await locks.inspect(two, name('a')))?.notPermitted).toContain(text)
      expect(await locks.inspect(one, name('a'))).toEqual({ sessionId: one.id })
      await two.ping()
    }
  })
})
