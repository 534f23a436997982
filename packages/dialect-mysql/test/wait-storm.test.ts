import { expect, it } from 'vitest'
import { describeServer } from '@sched-dev/databases'
import type { Statement } from '@sched/core/spi'
import { getLockDiagnostics } from '../src/locks/get-lock-diagnostics.ts'
import { getLockStrategy as locks } from '../src/locks/get-lock-strategy.ts'
import { freshName, holding, openLocks, openOptions, request, singleServers } from './support/scene.ts'

describeServer(singleServers, ({ url }) => {
  // A grant and the end of the wait may coincide. Believed blindly a lock would stay for ever, on a session that thinks it has none.
  it('P3, P10: never keeps a lock it was not told about when grants and ends of waits race', async () => {
    const { label } = openOptions()
    const connections = await Promise.all(Array.from({ length: 6 }, () => openLocks({ url }, { purpose: 'wait', label })))
    const storm = freshName()
    let holders = 0
    let granted = 0
    let refused = 0
    const [end, latest] = [performance.now() + 4_000, performance.now() + 30_000]
    const goesOn = (): boolean => performance.now() < end || (Math.min(granted, refused) <= 20 && performance.now() < latest)
    await Promise.all(connections.map(async (connection) => {
      while (goesOn()) {
        const outcome = await locks.lock!(connection, request(storm), 1 + Math.random() * 19)
        if (outcome.status === 'refused') { refused++; continue }
        expect(outcome.status).toBe('granted')
        expect(++holders).toBe(1)
        granted++
        await new Promise((resolve) => { setTimeout(resolve, Math.random() * 8) })
        holders--
        expect(await locks.release(connection, holding(storm))).toEqual({ status: 'released' })
      }
    }))
    expect(Math.min(granted, refused)).toBeGreaterThan(20)
    expect(await getLockDiagnostics.locks(await openLocks({ url }), label)).toBe(0)
    for (const connection of connections) expect(await locks.isHeld(connection, holding(storm))).toBe('free')
  }, 60_000)
})

describeServer('mysql', ({ url }) => {
  it('P3: reports a lock that was granted together with 3024 as granted', async () => {
    const connection = await openLocks({ url }, { purpose: 'wait' })
    const a = freshName()
    // The race itself cannot be ordered; this connection answers as the server does when it is lost.
    const raced = { ...connection, runHere: async (statement: Statement) => {
      const row = await connection.runHere(statement)
      if (!statement.text.includes('GET_LOCK')) return row
      throw Object.assign(new Error('maximum statement execution time exceeded'), { errno: 3024 })
    } }
    expect(await locks.lock!(raced, request(a), 10)).toEqual({ status: 'granted' })
    expect(await locks.release(connection, holding(a))).toEqual({ status: 'released' })
  })
})
