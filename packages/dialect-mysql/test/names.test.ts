import { expect, it } from 'vitest'
import { describeServer } from '@sched-dev/databases'
import { lockName, type LockName } from '@sched/core/spi'
import { encodedName } from '../src/locks/encoded-name.ts'
import { getLockStrategy as locks } from '../src/locks/get-lock-strategy.ts'
import { holding, openLocks, request, singleServers } from './support/scene.ts'

const lengths = [1, 2, 40, 55, 56, 57, 64, 65, 128, 191, 192, 193, 254, 255]
const texts = [
  ...lengths.flatMap((length) => ['x', 'X', 'ä', '锁', '🔒'].map((letter) => letter.repeat(length))),
  'job', 'Job', 'JOB', 'job ', ' job', 'job  ', 'jöb', 'job%', 'job_', 'job\t', 'job\n', "job'", 'job"', 'job`', 'job\\', 'job;', 'job--', 'job/*', 'jo~b',
  'Straße', 'STRASSE', 'strasse', 'I', 'i', 'İ', 'ı', 'ﬁ', 'fi', '\u212b', 'e\u0301x', 'ex\u0301', '\u{10ffff}', '\u0001',
]

describeServer(singleServers, ({ name: server, url }) => {
  it('P4: no two names are one lock, and a name is always the same lock, whatever it is made of', async () => {
    const [one, two] = [await openLocks({ url }, { leaseMs: 60_000 }), await openLocks({ url }, { leaseMs: 60_000 })]
    const space = `n${Date.now().toString(36)}`
    const names: LockName[] = [
      ...texts.map((text) => lockName(space, 'user', text)), lockName(space, 'task', 'job'), lockName(space, 'core', 'job'), lockName(`${space}1`, 'user', 'job'),
    ]
    for (const name of names) expect([name.name, await locks.tryLock(one, { ...request('-'), name })]).toEqual([name.name, { status: 'granted' }])
    for (const name of names) {
      expect([name.name, await locks.tryLock(two, { ...request('-'), name })]).toEqual([name.name, { status: 'refused' }])
      expect(await locks.isHeld(one, { ...holding('-'), name })).toBe('mine')
    }
    // Each is released once, so none had been granted twice to the same session.
    for (const name of names) {
      expect([name.name, await locks.release(one, { ...holding('-'), name })]).toEqual([name.name, { status: 'released' }])
      expect([name.name, await locks.isHeld(two, { ...holding('-'), name })]).toEqual([name.name, 'free'])
    }
    expect(await locks.tryLock(two, { ...request('-'), name: lockName(space, 'user', 'A\u030a') })).toEqual({ status: 'granted' }) // å in two spellings is one name
    expect(await locks.tryLock(one, { ...request('-'), name: lockName(space, 'user', '\u00c5') })).toEqual({ status: 'refused' })
  }, 30_000)

  it('P10: the server\'s own limits, which the encoding keeps clear of', async () => {
    const one = await openLocks({ url })
    const get = (text: string): Promise<unknown> => one.sql.run({ text: 'SELECT GET_LOCK(?, 0) AS granted', params: [text] })
    const longest = server === 'mysql' ? 64 : 192
    expect(await get('y'.repeat(longest))).toMatchObject({ rows: [{ granted: 1 }] })
    await expect(get('y'.repeat(longest + 1))).rejects.toMatchObject({ errno: server === 'mysql' ? 4163 : 1059 })
    const two = await openLocks({ url })
    expect((await two.sql.run({ text: 'SELECT GET_LOCK(?, 0) AS granted', params: ['Y'.repeat(longest)] })).rows).toEqual([{ granted: server === 'mysql' ? 0 : 1 }]) // case
    for (const text of texts) expect(encodedName(lockName('space', 'user', text))).toMatch(/^[a-z0-9_.:~-]{1,64}$/)
  })
})
