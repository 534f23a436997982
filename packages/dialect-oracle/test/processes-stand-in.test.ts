import { fileURLToPath } from 'node:url'
import { spawnNode, type NodeChild } from '@sched-dev/databases'
import { createLocks, type Locks } from '@sched/core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { oracle } from '../src/index.ts'
import { Ground } from './support/ground.ts'

const script = fileURLToPath(new URL('processes/lock-holder.ts', import.meta.url))

async function holderOn(ground: Ground, waitMs = 0): Promise<NodeChild> {
  const child = spawnNode(script, [ground.wire.url, String(waitMs)])
  await child.line(({ held, asking }) => held === true || (waitMs > 0 && asking === true), 30_000)
  return child
}

function locksOn(ground: Ground): Locks {
  const locks = createLocks({ dialect: oracle({ url: ground.wire.url }), namespace: 'processes', leaseMs: 4_000 })
  onTestFinished(() => locks.close())
  return locks
}

describe('stand-in at the wire: other processes', () => {
  it('a killed holder is replaced at once', async () => {
    const ground = await Ground.start()
    const locks = locksOn(ground)
    const child = await holderOn(ground)
    expect((await locks.tryAcquire('shared')).status).toBe('refused')
    await child.kill('SIGKILL')
    const lease = await locks.acquire('shared', { waitMs: 15_000 })
    expect(await lease.release()).toEqual({ status: 'released' })
  }, 90_000)

  it('a frozen holder is not replaced, whatever its lease says: boundedStaleness is false', async () => {
    const ground = await Ground.start()
    const locks = locksOn(ground)
    const child = await holderOn(ground)
    await child.freeze()
    await new Promise((resolve) => { setTimeout(resolve, 4_000) })
    expect((await locks.tryAcquire('shared')).status).toBe('refused')
    // It wakes past its lease: it must not believe in the lock any more, although the server still held it.
    child.thaw()
    await child.line(({ lost }) => lost === true, 20_000)
    const lease = await locks.acquire('shared', { waitMs: 15_000 })
    expect(await lease.release()).toEqual({ status: 'released' })
  }, 90_000)

  it('a waiter that is killed takes nothing with it', async () => {
    const ground = await Ground.start()
    const locks = locksOn(ground)
    const lease = await locks.acquire('shared', { waitMs: 0 })
    const child = await holderOn(ground, 60_000)
    await expect.poll(() => ground.server.sessions.size, { timeout: 20_000 }).toBeGreaterThanOrEqual(3)
    await child.kill('SIGKILL')
    expect(await lease.release()).toEqual({ status: 'released' })
    const again = await locks.acquire('shared', { waitMs: 20_000 })
    expect(await again.release()).toEqual({ status: 'released' })
  }, 90_000)
})
