import { expect, it } from 'vitest'
import { describeServer } from '@sched-dev/databases'
import { advisoryStrategy as locks } from '../src/locks/advisory-strategy.ts'
import { advisoryLocks, emptyDatabase, holding, onlooker, openLocks, request } from './support/scene.ts'

describeServer(['postgres', 'postgres-oldest'], ({ url: serverUrl }) => {
  // A grant and the end of the wait may coincide: the server answers 55P03 and the session holds the lock. Believed blindly it would
  // stay for ever, on a session that thinks it has none.
  it('never keeps a lock it was not told about when grants and time-outs race (P3, P10)', async () => {
    const url = await emptyDatabase(serverUrl)
    const connections = await Promise.all(Array.from({ length: 8 }, () => openLocks({ url }, { purpose: 'wait' })))
    let holders = 0
    let granted = 0
    let refused = 0
    const [end, latest] = [performance.now() + 4_000, performance.now() + 30_000]
    const goesOn = (): boolean => performance.now() < end || (Math.min(granted, refused) <= 20 && performance.now() < latest)
    await Promise.all(connections.map(async (connection) => {
      while (goesOn()) {
        const outcome = await locks.lock!(connection, request('storm'), 1 + Math.random() * 19)
        if (outcome.status === 'refused') { refused++; continue }
        expect(outcome.status).toBe('granted')
        expect(++holders).toBe(1)
        granted++
        await new Promise((resolve) => { setTimeout(resolve, Math.random() * 8) })
        holders--
        expect(await locks.release(connection, holding('storm'))).toEqual({ status: 'released' })
      }
    }))
    expect(Math.min(granted, refused)).toBeGreaterThan(20)
    expect(await advisoryLocks(await onlooker(url))).toBe(0)
    for (const connection of connections) expect(await locks.isHeld(connection, holding('storm'))).toBe('free')
  }, 60_000)

  it('reports a lock that was granted together with 55P03 as granted', async () => {
    const url = await emptyDatabase(serverUrl)
    const connection = await openLocks({ url }, { purpose: 'wait' })
    // The race itself cannot be ordered; this connection answers as the server does when it is lost.
    const raced = { ...connection, runBatchHere: async (text: string) => {
      await connection.runBatchHere(text)
      throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
    } }
    expect(await locks.lock!(raced, request('a'), 10)).toEqual({ status: 'granted' })
    expect(await locks.release(connection, holding('a'))).toEqual({ status: 'released' })
  })
})
