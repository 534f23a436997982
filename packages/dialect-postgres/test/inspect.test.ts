import { expect, it } from 'vitest'
import { describeServer } from '@sched-dev/databases'
import { advisoryStrategy as locks } from '../src/locks/advisory-strategy.ts'
import { emptyDatabase, name, onlooker, openLocks, request } from './support/scene.ts'

describeServer(['postgres', 'postgres-oldest'], ({ url: serverUrl }) => {
  it('names the holder: its session, role, host and label, and invents no time', async () => {
    const url = await emptyDatabase(serverUrl)
    const [one, two] = [await openLocks({ url }, { label: 'sched:test:host-a:77' }), await openLocks({ url })]
    expect(await locks.inspect(two, name('a'))).toBeNull()
    await locks.tryLock(one, request('a'))
    expect(await locks.inspect(two, name('a'))).toEqual({ sessionId: one.id, ownerLabel: 'sched:test:host-a:77', host: '127.0.0.1', user: 'postgres' })
  })

  it('tells an ordinary role what it may see, and which grant would show the rest (P10)', async () => {
    const url = await emptyDatabase(serverUrl)
    const looker = await onlooker(url)
    const role = `sched_role_${Date.now()}`
    await looker.query(`create role ${role} login password 'only-for-this-test'`)
    try {
      const limited = new URL(url)
      limited.username = role
      limited.password = 'only-for-this-test'
      const [one, two] = [await openLocks({ url }, { label: 'sched:test:host-a:77' }), await openLocks({ url: limited.href })]
      await locks.tryLock(one, request('a'))
      expect(await locks.tryLock(two, request('a'))).toEqual({ status: 'refused' }) // locking needs no privilege
      expect(await locks.inspect(two, name('a'))).toEqual({
        sessionId: one.id, ownerLabel: 'sched:test:host-a:77', user: 'postgres', notPermitted: expect.stringContaining(`GRANT pg_read_all_stats TO ${role}`) as string,
      })
      await looker.query(`grant pg_read_all_stats to ${role}`)
      expect(await locks.inspect(two, name('a'))).toMatchObject({ host: '127.0.0.1' })
      two.destroy()
    } finally {
      await looker.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`)
      await looker.query(`drop role ${role}`)
    }
  })
})
