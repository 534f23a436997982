import assert from 'node:assert/strict'
import { defineGroup, type CaseBody, type ConformanceCase } from '../case.ts'
import { allOf, needsBoundedStaleness, needsInspection, needsLease } from '../facts.ts'

export const leaseCases: readonly ConformanceCase[] = defineGroup('lease', {
  '01': { level: 'MUST', requires: needsBoundedStaleness, leases: 3, ...silentHolderIsReplaced(), opposite: silentHolderStays() },
  '02': {
    level: 'MUST', title: 'a silent holder is not replaced before its lease is over', requires: needsBoundedStaleness, leases: 2,
    async run(context) {
      const { leaseMs } = context
      const [other, holder] = [await context.open(), await context.open({ leaseMs })]
      const startedAt = performance.now()
      const { name } = await context.take(holder, context.request(context.name(), { leaseMs }))
      // The server counts from when it granted, after `startedAt`: whoever gets it earlier than a lease from then gets it too early.
      await context.takeWithin(other, name, leaseMs + context.graceMs)
      const afterMs = performance.now() - startedAt
      assert.ok(afterMs >= leaseMs - 5, `it was granted to another ${Math.round(afterMs)} ms into a lease of ${leaseMs} ms`)
    },
  },
  '03': { level: 'MUST', requires: needsLease, ...leaseOutlivesConnection(), opposite: lockEndsWithSession() },
  '04': {
    level: 'MUST', title: 'each lock has the lease it was asked for', requires: needsLease, leases: 2,
    async run(context) {
      const [connection, other] = [await context.open(), await context.open()]
      // The long one first: with the lease of the short one it is over before that, however long the second grant takes.
      const long = await context.take(connection, context.request(context.name('long'), { leaseMs: 10 * context.leaseMs }))
      const short = await context.take(connection, context.request(context.name('short'), { leaseMs: context.leaseMs }))
      await context.takeWithin(other, short.name, context.leaseMs + context.graceMs)
      await context.mustBeRefused(other, long.name, 'its lease is ten times as long as the one that is over')
    },
  },
  '05': {
    level: 'MUST', title: 'the expiry is written by the database, a lease after the grant', requires: allOf(needsLease, needsInspection),
    async run(context) {
      const connection = await context.open()
      for (const leaseMs of [10_500, 30_000, 3_600_000]) {
        const { name } = await context.take(connection, context.request(context.name(), { leaseMs }))
        const holder = await context.inspect(connection, name)
        const lengthMs = (holder?.expiresAt ?? 0) - (holder?.sinceAt ?? 0)
        assert.ok(Math.abs(lengthMs - leaseMs) < 1_000, `a lease of ${leaseMs} ms is ${lengthMs} ms long in the table`)
      }
    },
  },
  '06': {
    level: 'MUST', title: 'a holder whose lease is over releases nothing, even if nobody took it', requires: needsLease, leases: 2,
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.request(context.name(), { leaseMs: context.leaseMs }))
      await context.sleep(context.leaseMs + 100)
      assert.deepEqual(await context.release(connection, holding), { status: 'not-held' }, 'the holder was told that it had been guarded to the end')
    },
  },
})

function silentHolderIsReplaced(): CaseBody {
  return {
    title: 'a holder that says nothing any more is replaced when its lease is over',
    async run(context) {
      const { leaseMs } = context
      const [other, holder] = [await context.open(), await context.open({ leaseMs })]
      const { name } = await context.take(holder, context.request(context.name(), { leaseMs }))
      await context.takeWithin(other, name, leaseMs + context.graceMs)
    },
  }
}

function silentHolderStays(): CaseBody {
  return {
    title: 'a holder that says nothing keeps its lock: the server does not end it',
    async run(context) {
      const { leaseMs } = context
      const [other, holder] = [await context.open(), await context.open({ leaseMs })]
      const holding = await context.take(holder, context.request(context.name(), { leaseMs }))
      await context.sleep(2 * leaseMs)
      await context.mustBeRefused(other, holding.name, 'no lease ends it, says the capability boundedStaleness')
      assert.equal(await context.isHeld(holder, holding), 'mine')
    },
  }
}

function leaseOutlivesConnection(): CaseBody {
  return {
    title: 'the end of a connection does not free its leases',
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const { name } = await context.take(holder, context.name())
      holder.destroy()
      await context.sleep(100)
      await context.mustBeRefused(other, name, 'its lease is not over')
    },
  }
}

function lockEndsWithSession(): CaseBody {
  return {
    title: 'the end of a session frees all its locks',
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const [a, b] = [await context.take(holder, context.name('a')), await context.take(holder, context.name('b'))]
      holder.destroy()
      await context.takeWithin(other, a.name, context.soonMs)
      await context.takeWithin(other, b.name, context.soonMs)
    },
  }
}
