import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { describeServer, spawnNode } from '@sched-dev/databases'
import { advisoryStrategy as locks } from '../src/locks/advisory-strategy.ts'
import { emptyDatabase, eventually, holding, openLocks, request } from './support/scene.ts'

const leaseMs = 2_000
const holder = fileURLToPath(new URL('processes/lock-holder.ts', import.meta.url))

describeServer(['postgres', 'postgres-middle', 'pgbouncer-session'], ({ url: serverUrl }) => {
  it.each(['idle', 'transaction'])('ends the lock of a frozen process within its lease, also inside a transaction (P6): %s', async (where) => {
    const url = await emptyDatabase(serverUrl)
    const child = spawnNode(holder, [url, String(leaseMs), '300', where])
    await child.line(({ status }) => status === 'granted', 20_000)
    const watcher = await openLocks({ url }, { leaseMs: 60_000 })
    // More than the lease: the heartbeat keeps it.
    const kept = performance.now() + 1.5 * leaseMs
    while (performance.now() < kept) {
      expect(await locks.isHeld(watcher, holding('frozen'))).toBe('other')
      await new Promise((resolve) => { setTimeout(resolve, 50) })
    }
    await child.freeze()
    const frozenAt = Date.now()
    await eventually(async () => await locks.isHeld(watcher, holding('frozen')) === 'free', 10_000)
    const freeAt = Date.now()
    const beats = child.lines.filter(({ beat }) => beat === true).map(({ sentAt }) => sentAt as number)
    expect(freeAt - Math.max(...beats)).toBeGreaterThan(leaseMs - 50) // the server counts from the last heartbeat
    expect(freeAt - frozenAt).toBeLessThan(2 * leaseMs)
    expect(await locks.tryLock(watcher, request('frozen'))).toEqual({ status: 'granted' })
    child.thaw()
    const lost = await child.line((line) => 'lost' in line, 20_000)
    expect(lost['code'] ?? lost['lost']).toMatch(/^(57P05|25P03|08P01|Connection terminated|.*ended|ECONNRESET)/)
  }, 60_000)

  it('frees the lock of a killed process at once (P6)', async () => {
    const url = await emptyDatabase(serverUrl)
    const child = spawnNode(holder, [url, '30000', '200'])
    await child.line(({ status }) => status === 'granted', 20_000)
    const watcher = await openLocks({ url }, { leaseMs: 60_000 })
    await child.kill()
    // Long before its lease of half a minute is over.
    await eventually(async () => await locks.isHeld(watcher, holding('frozen')) === 'free', 10_000)
  }, 60_000)
})

describeServer('postgres-oldest', ({ url: serverUrl }) => {
  it('cannot end it on version 13: the probe says so, and at least the kernel is asked to look after the host', async () => {
    const url = await emptyDatabase(serverUrl)
    const child = spawnNode(holder, [url, '1000', '200'])
    await child.line(({ status }) => status === 'granted', 20_000)
    const watcher = await openLocks({ url }, { leaseMs: 30_000 })
    await child.freeze()
    await new Promise((resolve) => { setTimeout(resolve, 2_500) })
    expect(await locks.isHeld(watcher, holding('frozen'))).toBe('other')
    expect((await watcher.sql.run({ text: "SELECT current_setting('tcp_keepalives_idle') AS idle, current_setting('tcp_keepalives_interval') AS interval, current_setting('tcp_keepalives_count') AS count", params: [] })).rows)
      .toEqual([{ idle: '15', interval: '5', count: '3' }])
  }, 60_000)
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
    await eventually(async () => await queued() === 0, 10_000)
  })
})
