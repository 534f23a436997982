import { expect, it } from 'vitest'
import { isSchedError, type Locks } from '@sched/core'
import { spawnNode, type NodeChild } from '@sched-dev/databases'
import { describePlaces, eventually, locksOn, pause } from './places.ts'

const holder = new URL('./processes/holder.ts', import.meta.url)
const passer = new URL('./processes/passer.ts', import.meta.url)

interface Held { readonly kind: 'held'; readonly token: number | null }
/**
 * A process that is frozen inside a write transaction stops every writer on SQLite, which no lease can cure (failure model): it is woken and
 * frozen again until a write of ours goes through.
 */
async function freezeBetweenWrites(child: NodeChild, there: Locks): Promise<void> {
  for (;;) {
    await child.freeze()
    try {
      const probe = await there.tryAcquire('freeze-probe', { signal: AbortSignal.timeout(500) })
      if (probe.status === 'acquired') await probe.lease.release()
      return
    } catch (error) {
      if (!isSchedError(error, 'SCHED_CONTENDED') && !(error instanceof Error && error.name === 'TimeoutError')) throw error
      child.thaw()
      await pause(30)
    }
  }
}

interface Woken { readonly kind: 'woken'; readonly aborted: boolean; readonly eventsBefore: number; readonly eventsAfter: number; readonly code: string }

describePlaces((place) => {
  it('P5: a process frozen past its lease sees it at the first look when it wakes; its refresh and release touch nothing', async () => {
    const there = locksOn(place)
    const [leaseMs, heartbeatMs] = [4000, 500]
    for (let round = 0; round < 2; round += 1) {
      await using child = spawnNode(holder, [JSON.stringify({ url: place.url, name: 'frozen', leaseMs, heartbeatMs })])
      const held = await child.line<Held>(({ kind }) => kind === 'held', 30_000)
      // Still kept while the process lives.
      if (round === 0) await pause(leaseMs + heartbeatMs)
      expect(await there.tryAcquire('frozen')).toEqual({ status: 'refused' })
      await freezeBetweenWrites(child, there)
      const frozenAt = performance.now()
      // P6: taken over within the lease of the last renewal.
      const lease = await there.acquire('frozen', { waitMs: 20_000 })
      // A waiter looks once a second; the rest is slack for a busy machine.
      expect(performance.now() - frozenAt).toBeLessThan(leaseMs + 1000 + 3000)
      await pause(300 + Math.max(0, leaseMs - (performance.now() - frozenAt)))
      child.thaw()
      const woken = await child.line<Woken>(({ kind }) => kind === 'woken', 20_000)
      expect(woken).toMatchObject({ aborted: true, eventsAfter: 1, code: 'SCHED_LOCK_LOST' })
      const after = await child.line(({ kind }) => kind === 'after', 20_000)
      expect(after).toMatchObject({ refresh: 'SCHED_LOCK_LOST', release: 'lost' })
      // P4, P7: the new holder is untouched, and its token is larger.
      await lease.refresh()
      if (held.token !== null) expect(lease.fencingToken).toBeGreaterThan(held.token)
      expect(await lease.release()).toEqual({ status: 'released' })
      expect((await child.exited).code).toBe(0)
    }
  }, 120_000)

  it('P6: a holder that was killed is replaced: a native lock at once, a lease when it ends', async () => {
    const there = locksOn(place)
    const native = place.kind === 'postgres'
    const leaseMs = native ? 20_000 : 2000
    await using child = spawnNode(holder, [JSON.stringify({ url: place.url, name: 'killed', leaseMs, heartbeatMs: 250 })])
    await child.line(({ kind }) => kind === 'held', 30_000)
    await child.kill()
    const killedAt = performance.now()
    const lease = await there.acquire('killed', { waitMs: 20_000 })
    expect(performance.now() - killedAt).toBeLessThan(native ? leaseMs / 4 : leaseMs + 1000 + 3000)
    await lease.release()
  }, 60_000)

  it.each([true, false])('P12: a process ends by itself when it has closed (%s), or holds nothing', async (close) => {
    await using child = spawnNode(passer, [JSON.stringify({ url: place.url, close, leaseMs: 6000 })])
    await child.line(({ kind }) => kind === 'done', 30_000)
    const doneAt = performance.now()
    expect(await child.exited).toEqual({ code: 0, signal: null })
    expect(performance.now() - doneAt).toBeLessThan(5000)
    expect(child.stderr.replaceAll(/.*(ExperimentalWarning|trace-warnings).*\n/g, '')).toBe('')
    await eventually(async () => { const { sessions, locks } = await place.residue(); return sessions + locks === 0 })
  }, 60_000)
})
