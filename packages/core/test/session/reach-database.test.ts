import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { openGuarded, reachDatabase, type ReachOptions } from '../../src/session/reach-database.ts'
import type { ErrorClass } from '../../src/spi/error-class.ts'
import { manualClock, settle } from '../manual-clock.ts'

const url = 'postgres://user:p%40ss@host:5432/db'
const options = (clock = manualClock(), as: ErrorClass = 'connection-lost'): ReachOptions => ({ clock, random: () => 0.5, deadlineMs: 1000, classify: () => as, url })
const errorOf = (work: Promise<unknown>): Promise<Error & { code?: string }> => work.then(() => { throw new Error('it did not reject') }, (error: unknown) => error as Error)

describe('reachDatabase', () => {
  it('P10: what did not answer is SCHED_DATABASE_UNREACHABLE, what answered is what it answered', async () => {
    const failing = async (): Promise<never> => { throw new Error('no') }
    expect(await errorOf(reachDatabase('looking', failing, options()))).toMatchObject({ code: 'SCHED_DATABASE_UNREACHABLE', retryable: true })
    expect(await errorOf(reachDatabase('looking', failing, options(manualClock(), 'authentication')))).toMatchObject({ code: 'SCHED_AUTHENTICATION', retryable: false })
    const clock = manualClock()
    const late = errorOf(reachDatabase('looking', () => new Promise(() => {}), options(clock)))
    await clock.advance(1000)
    expect(await late).toMatchObject({ code: 'SCHED_DATABASE_UNREACHABLE' })
  })

  it('shows no password, as written or as meant, not even in the cause', async () => {
    for (const secret of ['p%40ss', 'p@ss']) {
      const error = await errorOf(reachDatabase('looking', async () => { throw new Error(`cannot connect with ${secret}`) }, options()))
      expect(inspect(error, { depth: 10 })).not.toContain(secret)
      expect(error.message).toContain('***')
    }
  })

  it('a connection that comes too late is destroyed', async () => {
    const clock = manualClock()
    let destroyed = 0
    const gate = Promise.withResolvers<void>()
    const opening = errorOf(openGuarded('test', async () => { await gate.promise; return { destroy: () => { destroyed += 1 } } }, options(clock)))
    await clock.advance(1000)
    expect((await opening).code).toBe('SCHED_DATABASE_UNREACHABLE')
    gate.resolve()
    await settle()
    expect(destroyed).toBe(1)
  })

  it('what is busy is tried again, within the deadline', async () => {
    const clock = manualClock()
    let tries = 0
    const busyUntil = (last: number) => async (): Promise<string> => { tries += 1; if (tries < last) throw new Error('busy'); return 'here' }
    const looking = reachDatabase('looking', busyUntil(5), options(clock, 'contended'))
    await clock.advance(500)
    expect(await looking).toBe('here')
    expect(tries).toBe(5)
    const never = errorOf(reachDatabase('looking', busyUntil(Infinity), options(clock, 'contended')))
    await clock.advance(1000)
    expect(await never).toMatchObject({ code: 'SCHED_CONTENDED', message: expect.stringContaining('looking failed: busy') as string })
    const end = tries
    await clock.advance(1000)
    expect(tries).toBe(end)
  })

  it('an abort is thrown as its own reason', async () => {
    const controller = new AbortController()
    const own = new TypeError('mine')
    const opening = errorOf(reachDatabase('looking', () => new Promise(() => {}), { ...options(), signal: controller.signal }))
    controller.abort(own)
    expect(await opening).toBe(own)
  })
})
