import { expect, it } from 'vitest'
import { describePrivateMysql, describeServer } from '@sched-dev/databases'
import { getLockDiagnostics } from '../src/locks/get-lock-diagnostics.ts'
import { getLockStrategy as locks } from '../src/locks/get-lock-strategy.ts'
import { eventually, freshName, onlooker, openLocks, openOptions, request, singleServers } from './support/scene.ts'

describeServer(singleServers, ({ url: serverUrl }) => {
  it('P10: names the holder: its session, account, host and label, and invents no time', async () => {
    const [one, two] = [await openLocks({ url: serverUrl }, { label: 'sched:test:host-a:77' }), await openLocks({ url: serverUrl })]
    const a = freshName()
    expect(await locks.inspect(two, a)).toBeNull()
    await locks.tryLock(one, request(a))
    expect(await locks.inspect(two, a)).toEqual({ sessionId: one.id, ownerLabel: 'sched:test:host-a:77', host: '127.0.0.1', user: new URL(serverUrl).username })
  })

  it('P10: tells an ordinary account what it may see, and which grants would show the rest', async () => {
    const looker = await onlooker(serverUrl)
    const account = `limited_${Date.now().toString(36)}`
    await looker.query(`CREATE USER '${account}'@'%' IDENTIFIED BY 'only-for-this-test'`)
    try {
      const limited = new URL(serverUrl)
      Object.assign(limited, { username: account, password: 'only-for-this-test', pathname: '' })
      const [one, two] = [await openLocks({ url: serverUrl }, { label: 'sched:test:host-a:77' }), await openLocks({ url: limited.href })]
      const a = freshName()
      await locks.tryLock(one, request(a))
      expect(await locks.tryLock(two, request(a))).toEqual({ status: 'refused' }) // locking needs no privilege
      const seen = await locks.inspect(two, a)
      expect(seen).toMatchObject({ sessionId: one.id, notPermitted: expect.stringContaining(`GRANT PROCESS ON *.* TO '${account}'@'%'`) as string })
      expect(seen?.notPermitted).toContain(`GRANT SELECT ON performance_schema.* TO '${account}'@'%'`)
      await looker.query(`GRANT PROCESS ON *.* TO '${account}'@'%'`)
      await looker.query(`GRANT SELECT ON performance_schema.* TO '${account}'@'%'`)
      const three = await openLocks({ url: limited.href })
      expect(await locks.inspect(three, a)).toEqual({ sessionId: one.id, ownerLabel: 'sched:test:host-a:77', host: '127.0.0.1', user: new URL(serverUrl).username })
      two.destroy()
      three.destroy()
    } finally {
      await looker.query(`DROP USER '${account}'@'%'`)
    }
  })

  it('lists, counts and ends the sessions of a label', async () => {
    const { label } = openOptions()
    const [one, two, asking] = [await openLocks({ url: serverUrl }, { label }), await openLocks({ url: serverUrl }, { label }), await openLocks({ url: serverUrl })]
    await locks.tryLock(one, request(freshName()))
    await locks.tryLock(two, request(freshName()))
    await locks.tryLock(two, request(freshName()))
    expect(await getLockDiagnostics.sessions(asking, label)).toEqual([one.id, two.id].sort((a, b) => a - b))
    expect(await getLockDiagnostics.locks(asking, label)).toBe(3)
    expect(await getLockDiagnostics.sessions(one, label)).toEqual([two.id])
    await getLockDiagnostics.kill!(asking, one.id)
    await eventually(async () => (await getLockDiagnostics.sessions(asking, label)).length === 1)
    await eventually(async () => await getLockDiagnostics.locks(asking, label) === 2)
    await getLockDiagnostics.kill!(asking, one.id) // gone already: as asked
  })
})

describePrivateMysql(['mariadb', 'mariadb-oldest'], (start) => {
  it('P10: with performance_schema off, MariaDB\'s default, locks and holders work, and only what nobody recorded is missing', async () => {
    await using server = await start({ settings: { 'performance-schema': 'OFF' } })
    const [one, two] = [await openLocks({ url: server.url }), await openLocks({ url: server.url })]
    const a = freshName()
    await locks.tryLock(one, request(a))
    expect(await locks.inspect(two, a)).toEqual({ sessionId: one.id, host: '127.0.0.1', user: 'sched' })
    for (const ask of ['sessions', 'locks'] as const) {
      await expect(getLockDiagnostics[ask](two, 'sched:x')).rejects.toMatchObject({ code: 'SCHED_CAPABILITY_MISSING', message: expect.stringContaining('performance_schema=ON') as string })
    }
  }, 60_000)
})
