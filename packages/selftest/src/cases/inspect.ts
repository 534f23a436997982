import assert from 'node:assert/strict'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { inBackground } from './in-background.ts'
import { allOf, needsInspection, needsLease, needsServerSideWait, needsSession } from '../facts.ts'
import { between, spanned } from './spans.ts'

export const inspectCases: readonly ConformanceCase[] = defineGroup('inspect', {
  '01': {
    level: 'MUST', title: 'a lock that nobody holds has no holder, before and after it was held', requires: needsInspection,
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const name = context.name()
      assert.equal(await context.inspect(other, name), null, 'nobody ever took it')
      const holding = await context.take(holder, name)
      await context.release(holder, holding)
      assert.equal(await context.inspect(other, name), null, 'it was released')
    },
  },
  '02': {
    level: 'MUST', title: 'a third connection learns which session holds the lock', requires: allOf(needsInspection, needsSession),
    async run(context) {
      const [first, second, third] = [await context.open(), await context.open(), await context.open()]
      const [a, b] = [await context.take(first, context.name('a')), await context.take(second, context.name('b'))]
      assert.equal((await context.inspect(third, a.name))?.sessionId, first.id)
      assert.equal((await context.inspect(third, b.name))?.sessionId, second.id)
    },
  },
  '03': {
    level: 'MUST', title: 'a third connection learns owner, label and token of the holder', requires: allOf(needsInspection, needsLease),
    async run(context) {
      const [first, third] = [await context.open(), await context.open()]
      const request = context.request(context.name(), { ownerLabel: 'Grün:42' })
      const holding = await context.take(first, request)
      const holder = await context.inspect(third, request.name)
      assert.deepEqual({ owner: holder?.owner, ownerLabel: holder?.ownerLabel, fencingToken: holder?.fencingToken },
        { owner: request.owner, ownerLabel: 'Grün:42', fencingToken: holding.fencingToken })
    },
  },
  '04': {
    level: 'SHOULD', title: 'the operator sees since when the lock is held, or what to grant', requires: needsInspection,
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const { result: first, span: firstSpan } = await spanned(() => context.take(holder, context.name('first')))
      await context.sleep(60)
      const { result: second, span: secondSpan } = await spanned(() => context.take(holder, context.name('second')))
      const [before, after] = [await context.inspect(other, first.name), await context.inspect(other, second.name)]
      assert.ok(before !== null && after !== null, 'the lock is held')
      if (before.notPermitted !== undefined) return
      // Sessions know since when they are there, rows since when they are held.
      for (const { sinceAt } of [before, after]) assert.ok(sinceAt === undefined || Number.isSafeInteger(sinceAt), `sinceAt is ${sinceAt}`)
      if (context.facts.capabilities.kind === 'lease') {
        const apartMs = (after.sinceAt ?? 0) - (before.sinceAt ?? 0)
        const { leastMs, mostMs } = between(firstSpan, secondSpan)
        assert.ok(apartMs >= leastMs - 20 && apartMs <= mostMs + 20, `two locks taken ${Math.round(leastMs)} to ${Math.round(mostMs)} ms apart are ${apartMs} ms apart`)
      } else {
        assert.ok(before.host !== undefined || before.user !== undefined || before.ownerLabel !== undefined, 'nothing is told that a person could use')
      }
    },
  },
  '05': {
    level: 'MUST', title: 'who waits is not the holder', requires: allOf(needsInspection, needsServerSideWait),
    async run(context) {
      const [holder, waiter, third] = [await context.open(), await context.open({ purpose: 'wait' }), await context.open()]
      const holding = await context.take(holder, context.name())
      const waiting = inBackground(context.lock(waiter, context.request(holding.name), 8_000))
      await context.sleep(100)
      const found = await context.inspect(third, holding.name)
      await context.release(holder, holding)
      await waiting
      assert.equal(found?.sessionId, holder.id)
    },
  },
  '06': {
    level: 'MUST', title: 'an expired lease has no holder', requires: allOf(needsInspection, needsLease), leases: 2,
    async run(context) {
      const connection = await context.open()
      const { name } = await context.take(connection, context.request(context.name(), { leaseMs: context.leaseMs }))
      await context.sleep(context.leaseMs + 100)
      assert.equal(await context.inspect(connection, name), null)
    },
  },
  '07': {
    level: 'MUST', title: 'the library names the holder', requires: needsInspection, leases: 1,
    async run(context) {
      const holder = await context.open()
      const locks = context.locks()
      const name = context.name()
      assert.equal(await locks.inspect(name.name), null)
      const { owner } = await context.take(holder, name)
      const found = await locks.inspect(name.name)
      if (context.facts.capabilities.kind === 'lease') assert.equal(found?.owner, owner)
      else assert.equal(found?.sessionId, holder.id)
    },
  },
})
