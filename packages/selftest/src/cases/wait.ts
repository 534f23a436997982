import assert from 'node:assert/strict'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { needsServerSideWait } from '../facts.ts'
import { inBackground } from './in-background.ts'
import { rejection } from './rejection.ts'
import { spanned } from './spans.ts'

// Timers of servers and of this process are not the same: a wait may end this much before its limit.
const earlyMs = 25

export const waitCases: readonly ConformanceCase[] = defineGroup('wait', {
  '01': {
    level: 'MUST', title: 'a source that waits in the server has `lock`', requires: needsServerSideWait,
    async run({ source }) { assert.equal(typeof source.strategy.lock, 'function') },
    opposite: {
      title: 'a source that does not wait in the server has no `lock`',
      async run({ source }) { assert.equal(typeof source.strategy.lock, 'undefined', 'it would never be called: the core polls') },
    },
  },
  '02': {
    level: 'MUST', title: 'waiting for a free lock does not wait', requires: needsServerSideWait,
    async run(context) {
      const connection = await context.open({ purpose: 'wait' })
      const tookMs = await context.quickest(context.promptMs, async () => {
        const { status } = await context.lock(connection, context.request(context.name()), 5_000)
        assert.equal(status, 'granted')
      })
      assert.ok(tookMs < context.promptMs, `it took ${Math.round(tookMs)} ms`)
    },
  },
  '03': {
    level: 'MUST', title: 'a wait lasts as long as it was told, below a second too', requires: needsServerSideWait,
    async run(context) {
      const [holder, waiter] = [await context.open(), await context.open({ purpose: 'wait' })]
      const { name } = await context.take(holder, context.name())
      for (const waitMs of [120, 700, 1_300]) {
        const { result, tookMs } = await context.timed(() => context.lock(waiter, context.request(name), waitMs))
        assert.equal(result.status, 'refused', `the outcome of a wait of ${waitMs} ms`)
        assert.ok(tookMs >= waitMs - earlyMs, `a wait of ${waitMs} ms gave up after ${Math.round(tookMs)} ms`)
      }
    },
  },
  '04': {
    level: 'MUST', title: 'a wait ends when its time is over', requires: needsServerSideWait,
    async run(context) {
      const [holder, waiter] = [await context.open(), await context.open({ purpose: 'wait' })]
      const { name } = await context.take(holder, context.name())
      for (const waitMs of [100, 600]) {
        // A server that waits in whole seconds rounds up.
        const enoughMs = waitMs + context.graceMs
        const tookMs = await context.quickest(enoughMs, async () => {
          const { status } = await context.lock(waiter, context.request(name), waitMs)
          assert.equal(status, 'refused', `the outcome of a wait of ${waitMs} ms`)
        })
        assert.ok(tookMs < enoughMs, `a wait of ${waitMs} ms took ${Math.round(tookMs)} ms`)
      }
    },
  },
  '05': {
    level: 'MUST', title: 'a waiter is granted the lock when its holder releases it', requires: needsServerSideWait,
    async run(context) {
      const [holder, waiter] = [await context.open(), await context.open({ purpose: 'wait' })]
      const holding = await context.take(holder, context.name())
      const request = context.request(holding.name)
      const waiting = inBackground(spanned(() => context.lock(waiter, request, 2 * context.soonMs)))
      await context.sleep(200)
      const releasedAt = performance.now()
      await context.release(holder, holding)
      const { result, span } = await waiting
      assert.equal(result.status, 'granted')
      assert.ok(span.to >= releasedAt, `it was granted after ${Math.round(span.to - span.from)} ms, while the lock was held`)
      assert.ok(span.to - releasedAt <= context.soonMs, `it was granted ${Math.round(span.to - releasedAt)} ms after the release`)
      assert.equal(await context.isHeld(waiter, { name: holding.name, owner: request.owner, fencingToken: undefined }), 'mine')
      await context.mustBeRefused(holder, holding.name, 'the waiter has it')
    },
  },
  '06': {
    level: 'MUST', title: 'a wait that was given up is not granted later', requires: needsServerSideWait,
    async run(context) {
      const [holder, waiter, third] = [await context.open(), await context.open({ purpose: 'wait' }), await context.open()]
      const holding = await context.take(holder, context.name())
      const { status } = await context.lock(waiter, context.request(holding.name), 150)
      assert.equal(status, 'refused')
      await context.release(holder, holding)
      await context.sleep(100)
      await context.mustBeFree(third, holding.name, 'its holder has released it, and the waiter had given up')
      await waiter.ping()
    },
  },
  '07': {
    level: 'MUST', title: 'a wait delays nobody else', requires: needsServerSideWait,
    async run(context) {
      const [holder, waiter, third] = [await context.open(), await context.open({ purpose: 'wait' }), await context.open()]
      const holding = await context.take(holder, context.name())
      const waitMs = 2 * context.soonMs
      let waits = true
      const waiting = inBackground(context.lock(waiter, context.request(holding.name), waitMs).finally(() => { waits = false }))
      await context.sleep(50)
      await third.ping()
      await context.mustBeFree(third, context.name('another'), 'nobody asked for it')
      await context.refresh(holder, [holding])
      await context.mustBeRefused(third, holding.name, 'it is held')
      assert.ok(waits, `work beside a wait of ${waitMs} ms lasted until its end`)
      await context.release(holder, holding)
      const { status } = await waiting
      assert.equal(status, 'granted')
    },
  },
  '08': {
    level: 'MUST', title: 'a waiter that is destroyed gets the lock no more', requires: needsServerSideWait,
    async run(context) {
      const [holder, waiter, third] = [await context.open(), await context.open({ purpose: 'wait' }), await context.open()]
      const holding = await context.take(holder, context.name())
      const waiting = context.lock(waiter, context.request(holding.name), 4_000).then(({ status }) => status, () => 'rejected')
      await context.sleep(100)
      waiter.destroy()
      await context.release(holder, holding)
      await context.takeWithin(third, holding.name, 4_000 + context.soonMs)
      assert.notEqual(await waiting, 'granted', 'a connection that was destroyed was granted the lock')
    },
  },
  '09': {
    level: 'MUST', title: 'the library waits for a lock until its holder releases it', leases: 1,
    async run(context) {
      const holder = await context.open()
      const holding = await context.take(holder, context.name())
      const waiting = inBackground(spanned(() => context.locks({ leaseMs: 20_000 }).acquire(holding.name.name, { waitMs: 2 * context.soonMs })))
      await context.sleep(300)
      const releasedAt = performance.now()
      await context.release(holder, holding)
      const { result: lease, span } = await waiting
      assert.ok(span.to >= releasedAt, `it was granted after ${Math.round(span.to - span.from)} ms, while the lock was held`)
      assert.ok(span.to - releasedAt <= context.soonMs, `it was granted ${Math.round(span.to - releasedAt)} ms after the release`)
      await context.mustBeRefused(holder, holding.name, 'the library has it')
      assert.deepEqual(await lease.release(), { status: 'released' })
    },
  },
  '10': {
    level: 'MUST', title: 'a wait of the library ends with SCHED_LOCK_TIMEOUT, on time', leases: 1,
    async run(context) {
      const { name } = await context.take(await context.open(), context.name())
      const locks = context.locks()
      // Probes and opens what it needs.
      await locks.tryAcquire(name.name)
      const { result: code, tookMs } = await context.timed(() => rejection(locks.acquire(name.name, { waitMs: 800 })))
      assert.equal(code, 'SCHED_LOCK_TIMEOUT')
      assert.ok(tookMs >= 800 - earlyMs, `it gave up after ${Math.round(tookMs)} ms`)
      assert.ok(tookMs <= 800 + context.graceMs + context.soonMs, `it gave up after ${Math.round(tookMs)} ms`)
    },
  },
  '11': {
    level: 'MUST', title: 'a wait of the library ends when its signal is aborted, and takes nothing later', leases: 1,
    async run(context) {
      const holder = await context.open()
      const holding = await context.take(holder, context.name())
      const abort = new AbortController()
      const waiting = spanned(() => rejection(context.locks().acquire(holding.name.name, { waitMs: 2 * context.soonMs, signal: abort.signal })))
      await context.sleep(150)
      const abortedAt = performance.now()
      abort.abort()
      const { result: code, span } = await waiting
      assert.equal(code, 'SCHED_ABORTED')
      assert.ok(span.to - abortedAt <= context.soonMs, `it went on for ${Math.round(span.to - abortedAt)} ms after the abort`)
      await context.release(holder, holding)
      await context.takeWithin(holder, holding.name, context.soonMs)
    },
  },
})
