import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { describeServer, spawnNode } from '@sched-dev/databases'
import { lockName } from '@sched/core/spi'
import { getLockStrategy as locks } from '../src/locks/get-lock-strategy.ts'
import { eventually, holding, openLocks, request, singleServers } from './support/scene.ts'

const leaseMs = 2_000
const holder = fileURLToPath(new URL('processes/lock-holder.ts', import.meta.url))
let spaces = 0
const space = (): string => `lease-${Date.now().toString(36)}-${++spaces}`

describeServer(singleServers, ({ name: server, url }) => {
  it.each(['idle', 'transaction'])('P6: ends the lock of a frozen process within its lease, also inside a transaction: %s', async (where) => {
    const namespace = space()
    const child = spawnNode(holder, [url, namespace, String(leaseMs), '300', where])
    await child.line(({ status }) => status === 'granted', 20_000)
    const frozen = { ...holding('-'), name: lockName(namespace, 'user', 'frozen') }
    const watcher = await openLocks({ url }, { leaseMs: 60_000 })
    // More than the lease: the heartbeat keeps it.
    const kept = performance.now() + 3_000
    while (performance.now() < kept) {
      expect(await locks.isHeld(watcher, frozen)).toBe('other')
      await new Promise((resolve) => { setTimeout(resolve, 50) })
    }
    await child.freeze()
    const frozenAt = Date.now()
    await eventually(async () => await locks.isHeld(watcher, frozen) === 'free', 10_000)
    const freeAt = Date.now()
    const beats = child.lines.filter(({ beat }) => beat === true).map(({ sentAt }) => sentAt as number)
    expect(freeAt - Math.max(...beats)).toBeGreaterThan(leaseMs - 50) // the server counts from the last heartbeat
    expect(freeAt - frozenAt).toBeLessThan(2 * leaseMs)
    expect(await locks.tryLock(watcher, { ...request('-'), name: frozen.name })).toEqual({ status: 'granted' })
    child.thaw()
    const lost = await child.line<{ lost: string; code: unknown }>((line) => 'lost' in line, 20_000)
    if (server === 'mysql') expect([4031, 'PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'ER_CLIENT_INTERACTION_TIMEOUT']).toContain(lost.code)
    else expect(['PROTOCOL_CONNECTION_LOST', 'ECONNRESET']).toContain(lost.code)
  }, 60_000)

  it('P6: frees the lock of a killed process at once', async () => {
    const namespace = space()
    const child = spawnNode(holder, [url, namespace, '30000', '200'])
    await child.line(({ status }) => status === 'granted', 20_000)
    const watcher = await openLocks({ url }, { leaseMs: 60_000 })
    await child.kill()
    // Long before its lease of half a minute is over.
    await eventually(async () => await locks.isHeld(watcher, { ...holding('-'), name: lockName(namespace, 'user', 'frozen') }) === 'free', 10_000)
  }, 60_000)

  it('P6: a lease that is no whole second is rounded up, never down: the server must not be earlier than the holder', async () => {
    const one = await openLocks({ url }, { leaseMs: 1_200 })
    expect((await one.sql.run({ text: 'SELECT @@wait_timeout AS w', params: [] })).rows).toEqual([{ w: 2 }])
  })
})
