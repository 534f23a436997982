import assert from 'node:assert/strict'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { needsServerSideWait } from '../facts.ts'
import { inBackground } from './in-background.ts'
import { rejection } from './rejection.ts'

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
      const { result, tookMs } = await context.timed(() => context.lock(connection, context.request(context.name()), 5_000))
      assert.equal(result.status, 'granted')
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
        const { result, tookMs } = await context.timed(() => context.lock(waiter, context.request(name), waitMs))
        assert.equal(result.status, 'refused', `the outcome of a wait of ${waitMs} ms`)
        // A server that waits in whole seconds rounds up.
        assert.ok(tookMs <= waitMs + context.graceMs, `a wait of ${waitMs} ms took ${Math.round(tookMs)} ms`)
      }
    },
  },
  '05': {
    level: 'MUST', title: 'a waiter is granted the lock when its holder releases it', requires: needsServerSideWait,
    async run(context) {
      const [holder, waiter] = [await context.open(), await context.open({ purpose: 'wait' })]
      const holding = await context.take(holder, context.name())
      const request = context.request(holding.name)
      const waiting = inBackground(context.timed(() => context.lock(waiter, request, 8_000)))
      await context.sleep(200)
      await context.release(holder, holding)
      const { result, tookMs } = await waiting
      assert.equal(result.status, 'granted')
      assert.ok(tookMs >= 150, `it was granted after ${Math.round(tookMs)} ms, while the lock was held`)
      assert.ok(tookMs <= 200 + context.promptMs, `it was granted ${Math.round(tookMs - 200)} ms after the release`)
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
      const waiting = inBackground(context.lock(waiter, context.request(holding.name), 1.2 * context.promptMs))
      await context.sleep(50)
      const { tookMs } = await context.timed(async () => {
        await third.ping()
        await context.mustBeFree(third, context.name('another'), 'nobody asked for it')
        await context.refresh(holder, [holding])
        await context.mustBeRefused(third, holding.name, 'it is held')
      })
      const { status } = await waiting
      assert.equal(status, 'refused')
      assert.ok(tookMs < context.promptMs, `work beside a wait took ${Math.round(tookMs)} ms`)
    },
  },
  '08': {
    level: 'MUST', title: 'a waiter that is destroyed gets the lock no more', requires: needsServerSideWait,
    async run(context) {
      const [holder, waiter, third] = [await context.open(), await context.open({ purpose: 'wait' }), await context.open()]
      const holding = await context.take(holder, context.name())
      const waiting = context.lock(waiter, context.request(holding.name), 2_000).then(({ status }) => status, () => 'rejected')
      await context.sleep(100)
      waiter.destroy()
      await context.release(holder, holding)
      await context.takeWithin(third, holding.name, 2_000 + context.promptMs)
      assert.notEqual(await waiting, 'granted', 'a connection that was destroyed was granted the lock')
    },
  },
  '09': {
    level: 'MUST', title: 'the library waits for a lock until its holder releases it', leases: 1,
    async run(context) {
      const holder = await context.open()
      const holding = await context.take(holder, context.name())
      const waiting = inBackground(context.timed(() => context.locks().acquire(holding.name.name, { waitMs: 8_000 })))
      await context.sleep(300)
      await context.release(holder, holding)
      const { result: lease, tookMs } = await waiting
      assert.ok(tookMs >= 250, `it was granted after ${Math.round(tookMs)} ms, while the lock was held`)
      assert.ok(tookMs <= 300 + 2 * context.promptMs, `it was granted ${Math.round(tookMs - 300)} ms after the release`)
      await context.mustBeRefused(holder, holding.name, 'the library has it')
      assert.deepEqual(await lease.release(), { status: 'released' })
    },
  },
  '10': {
    level: 'MUST', title: 'a wait of the library ends with SCHED_LOCK_TIMEOUT, on time', leases: 1,
    async run(context) {
      const { name } = await context.take(await context.open(), context.name())
      const locks = context.locks()
      const { result: code, tookMs } = await context.timed(() => rejection(locks.acquire(name.name, { waitMs: 600 })))
      assert.equal(code, 'SCHED_LOCK_TIMEOUT')
      assert.ok(tookMs >= 600 - earlyMs, `it gave up after ${Math.round(tookMs)} ms`)
      assert.ok(tookMs <= 600 + context.graceMs + context.promptMs, `it gave up after ${Math.round(tookMs)} ms`)
    },
  },
  '11': {
    level: 'MUST', title: 'a wait of the library ends when its signal is aborted, and takes nothing later', leases: 1,
    async run(context) {
      const holder = await context.open()
      const holding = await context.take(holder, context.name())
      const abort = new AbortController()
      const waiting = context.timed(() => rejection(context.locks().acquire(holding.name.name, { waitMs: 8_000, signal: abort.signal })))
      await context.sleep(150)
      abort.abort()
      const { result: code, tookMs } = await waiting
      assert.equal(code, 'SCHED_ABORTED')
      assert.ok(tookMs <= 150 + context.promptMs, `it went on for ${Math.round(tookMs - 150)} ms after the abort`)
      await context.release(holder, holding)
      await context.takeWithin(holder, holding.name, 2 * context.promptMs)
    },
  },
})
