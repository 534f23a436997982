import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { describeServer, spawnNode } from '@sched-dev/databases'
import { lockName } from '@sched/core/spi'
import { getLockStrategy as locks } from '../src/locks/get-lock-strategy.ts'
import { eventually, holding, openLocks, request, singleServers } from './support/scene.ts'

const holder = fileURLToPath(new URL('processes/lock-holder.ts', import.meta.url))
let spaces = 0
const space = (): string => `lease-${Date.now().toString(36)}-${++spaces}`

describeServer(singleServers, ({ name: server, url }) => {
  it.each(['idle', 'transaction'])('P6: ends the lock of a frozen process within its lease, also inside a transaction: %s', async (where) => {
    const namespace = space()
    const child = spawnNode(holder, [url, namespace, '2000', '300', where])
    await child.line(({ status }) => status === 'granted', 15_000)
    const frozen = { ...holding('-'), name: lockName(namespace, 'user', 'frozen') }
    const watcher = await openLocks({ url }, { leaseMs: 60_000 })
    // More than the lease: the heartbeat keeps it.
    const kept = performance.now() + 3_000
    while (performance.now() < kept) {
      expect(await locks.isHeld(watcher, frozen)).toBe('other')
      await new Promise((resolve) => { setTimeout(resolve, 50) })
    }
    await child.freeze()
    const frozenAt = performance.now()
    await eventually(async () => await locks.isHeld(watcher, frozen) === 'free', 8_000)
    const took = performance.now() - frozenAt
    expect(took).toBeGreaterThan(1_500) // lease less one heartbeat
    expect(took).toBeLessThan(2_700)
    expect(await locks.tryLock(watcher, { ...request('-'), name: frozen.name })).toEqual({ status: 'granted' })
    child.thaw()
    const lost = await child.line<{ lost: string; code: unknown }>((line) => 'lost' in line, 5_000)
    if (server === 'mysql') expect([4031, 'PROTOCOL_CONNECTION_LOST', 'ECONNRESET', 'ER_CLIENT_INTERACTION_TIMEOUT']).toContain(lost.code)
    else expect(['PROTOCOL_CONNECTION_LOST', 'ECONNRESET']).toContain(lost.code)
  }, 30_000)

  it('P6: frees the lock of a killed process at once', async () => {
    const namespace = space()
    const child = spawnNode(holder, [url, namespace, '30000', '200'])
    await child.line(({ status }) => status === 'granted', 15_000)
    const watcher = await openLocks({ url }, { leaseMs: 60_000 })
    const killedAt = performance.now()
    await child.kill()
    await eventually(async () => await locks.isHeld(watcher, { ...holding('-'), name: lockName(namespace, 'user', 'frozen') }) === 'free', 5_000)
    expect(performance.now() - killedAt).toBeLessThan(2_000)
  }, 20_000)

  it('P6: a lease that is no whole second is rounded up, never down: the server must not be earlier than the holder', async () => {
    const one = await openLocks({ url }, { leaseMs: 1_200 })
    expect((await one.sql.run({ text: 'SELECT @@wait_timeout AS w', params: [] })).rows).toEqual([{ w: 2 }])
  })
})
