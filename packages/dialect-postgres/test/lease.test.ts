import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { describeServer, spawnNode } from '@sched-dev/databases'
import { advisoryStrategy as locks } from '../src/locks/advisory-strategy.ts'
import { emptyDatabase, eventually, holding, openLocks, request } from './support/scene.ts'

const holder = fileURLToPath(new URL('processes/lock-holder.ts', import.meta.url))

describeServer(['postgres', 'postgres-middle', 'pgbouncer-session'], ({ url: serverUrl }) => {
  it.each(['idle', 'transaction'])('ends the lock of a frozen process within its lease, also inside a transaction (P6): %s', async (where) => {
    const url = await emptyDatabase(serverUrl)
    const child = spawnNode(holder, [url, '1000', '200', where])
    await child.line(({ status }) => status === 'granted', 10_000)
    const watcher = await openLocks({ url }, { leaseMs: 60_000 })
    // Twice the lease: the heartbeat keeps it.
    const kept = performance.now() + 2_000
    while (performance.now() < kept) {
      expect(await locks.isHeld(watcher, holding('frozen'))).toBe('other')
      await new Promise((resolve) => { setTimeout(resolve, 50) })
    }
    await child.freeze()
    const frozenAt = performance.now()
    await eventually(async () => await locks.isHeld(watcher, holding('frozen')) === 'free', 5_000)
    const took = performance.now() - frozenAt
    expect(took).toBeGreaterThan(700) // lease less one heartbeat
    expect(took).toBeLessThan(1_400)
    expect(await locks.tryLock(watcher, request('frozen'))).toEqual({ status: 'granted' })
    child.thaw()
    const lost = await child.line((line) => 'lost' in line, 5_000)
    expect(lost['code'] ?? lost['lost']).toMatch(/^(57P05|25P03|08P01|Connection terminated|.*ended|ECONNRESET)/)
  }, 20_000)

  it('frees the lock of a killed process at once (P6)', async () => {
    const url = await emptyDatabase(serverUrl)
    const child = spawnNode(holder, [url, '30000', '200'])
    await child.line(({ status }) => status === 'granted', 10_000)
    const watcher = await openLocks({ url }, { leaseMs: 60_000 })
    const killedAt = performance.now()
    await child.kill()
    await eventually(async () => await locks.isHeld(watcher, holding('frozen')) === 'free', 5_000)
    expect(performance.now() - killedAt).toBeLessThan(2_000)
  }, 20_000)
})

describeServer('postgres-oldest', ({ url: serverUrl }) => {
  it('cannot end it on version 13: the probe says so, and at least the kernel is asked to look after the host', async () => {
    const url = await emptyDatabase(serverUrl)
    const child = spawnNode(holder, [url, '1000', '200'])
    await child.line(({ status }) => status === 'granted', 10_000)
    const watcher = await openLocks({ url }, { leaseMs: 30_000 })
    await child.freeze()
    await new Promise((resolve) => { setTimeout(resolve, 2_500) })
    expect(await locks.isHeld(watcher, holding('frozen'))).toBe('other')
    expect((await watcher.sql.run({ text: "SELECT current_setting('tcp_keepalives_idle') AS idle, current_setting('tcp_keepalives_interval') AS interval, current_setting('tcp_keepalives_count') AS count", params: [] })).rows)
      .toEqual([{ idle: '15', interval: '5', count: '3' }])
  }, 20_000)
})

describeServer(['postgres', 'postgres-middle'], ({ url: serverUrl }) => {
  it('a destroyed waiter leaves the queue within a second or so, not at the end of its wait', async () => {
    const url = await emptyDatabase(serverUrl)
    const [holding1, waiter, watcher] = [await openLocks({ url }), await openLocks({ url }, { purpose: 'wait' }), await openLocks({ url })]
    await locks.tryLock(holding1, request('a'))
    const waiting = locks.lock!(waiter, request('a'), 60_000).catch(() => 'destroyed')
    const queued = async (): Promise<number> => (await watcher.sql.run({ text: 'SELECT count(*) AS n FROM pg_locks WHERE NOT granted AND pid = ?', params: [waiter.id] })).rows[0]!['n'] as number
    await eventually(async () => await queued() === 1)
    waiter.destroy()
    expect(await waiting).toBe('destroyed')
    await eventually(async () => await queued() === 0, 3_000)
  })
})
