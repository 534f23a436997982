import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { EventLoopWatch } from '../../src/telemetry/event-loop-lag.ts'

function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

function watching(): EventLoopWatch {
  const watch = new EventLoopWatch()
  watch.start()
  onTestFinished(() => { watch.stop() })
  return watch
}

describe('the watch on the event loop', () => {
  it('P5: tells of a block at once, before the loop has turned, from its first moment on, and once', async () => {
    const watch = watching()
    block(600)
    expect(watch.longestMs).toBeGreaterThan(400)
    const { maxMs, p99Ms, meanMs } = watch.take()
    expect([maxMs, p99Ms, meanMs].every((ms) => ms > 400 && ms < 1_500)).toBe(true)
    await sleep(220)
    expect(watch.longestMs).toBeLessThan(350)
    expect(watch.take().maxMs).toBeLessThan(350)
  })

  it('keeps a block until it is read, among the looks that were in time', async () => {
    const watch = watching()
    await sleep(800)
    block(600)
    await sleep(800)
    expect(watch.longestMs).toBeGreaterThan(400)
    const { maxMs, meanMs } = watch.take()
    expect(maxMs).toBeGreaterThan(400)
    expect(meanMs).toBeLessThan(maxMs / 2)
  })

  it('says nothing while it does not run', () => {
    const watch = new EventLoopWatch()
    block(100)
    expect(watch.longestMs).toBe(0)
    expect(watch.take()).toEqual({ meanMs: 0, p99Ms: 0, maxMs: 0 })
  })
})
