import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { LockHolding } from '@sched/core/spi'
import { defineGroup, type CaseBody, type ConformanceCase } from '../case.ts'
import { allOf, needsBoundedStaleness, needsInspection, needsLease, needsSession, needsTokens } from '../facts.ts'
import { between, spanned } from './spans.ts'

export const refreshCases: readonly ConformanceCase[] = defineGroup('refresh', {
  '01': {
    level: 'MUST', title: 'refreshing what is held loses nothing',
    async run(context) {
      const connection = await context.open()
      const holdings = [await context.take(connection, context.name('a')), await context.take(connection, context.name('b'))]
      assert.deepEqual(await context.refresh(connection, holdings), [])
      for (const holding of holdings) assert.equal(await context.isHeld(connection, holding), 'mine', 'a lock was lost by its refresh')
    },
  },
  '02': {
    level: 'MUST', title: 'a refresh of many names exactly those that are lost', requires: needsLease,
    async run(context) {
      const connection = await context.open()
      const [kept, released] = [await context.take(connection, context.name('kept')), await context.take(connection, context.name('released'))]
      const never: LockHolding = { name: context.name('never'), owner: randomUUID(), fencingToken: 1 }
      await context.release(connection, released)
      const lost = await context.refresh(connection, [released, kept, never])
      assert.deepEqual([...lost].sort(), [released.owner, never.owner].sort())
      assert.equal(await context.isHeld(connection, kept), 'mine')
    },
  },
  '03': {
    level: 'MUST', title: 'refreshing keeps a lock far beyond its first lease', requires: needsBoundedStaleness, leases: 3,
    async run(context) {
      const leaseMs = context.keptLeaseMs
      const [other, holder] = [await context.open(), await context.open({ leaseMs })]
      const holding = await context.take(holder, context.request(context.name(), { leaseMs }))
      for (let beat = 0; beat < 9; beat += 1) {
        await context.sleep(leaseMs / 6)
        assert.deepEqual(await context.refresh(holder, [holding], leaseMs), [], `beat ${beat}`)
      }
      await context.mustBeRefused(other, holding.name, `it was refreshed every ${leaseMs / 6} ms`)
    },
  },
  '04': { level: 'MUST', requires: needsLease, leases: 2, ...leaseIsNotRevived(), opposite: deadSessionIsNoSuccess() },
  '05': {
    level: 'MUST', title: 'a refresh after the takeover is a loss, and leaves the successor untouched', requires: needsLease, leases: 2,
    async run(context) {
      const { leaseMs } = context
      const [first, second] = [await context.open(), await context.open()]
      const old = await context.take(first, context.request(context.name(), { leaseMs }))
      const { holding: successor } = await context.takeWithin(second, old.name, leaseMs + context.graceMs)
      const before = await context.inspect(second, old.name)
      assert.deepEqual(await context.refresh(first, [old], leaseMs), [old.owner])
      assert.equal(await context.isHeld(second, successor), 'mine', 'the successor has lost its lock to the refresh of the old holder')
      assert.deepEqual(await context.inspect(second, old.name), before, 'the row of the successor was changed')
    },
  },
  '06': {
    level: 'MUST', title: 'refreshing many locks is one round trip', requires: needsSession,
    async run(context) {
      const connection = await context.open()
      const holdings: LockHolding[] = []
      const count = Math.min(200, context.facts.capabilities.maxLocks)
      for (let index = 0; index < count; index += 1) holdings.push(await context.take(connection, context.name()))
      let [ping, refresh] = [Infinity, Infinity]
      // By turns, so that other work on the machine holds up both alike.
      for (let sample = 0; sample < 15; sample += 1) {
        ping = Math.min(ping, (await context.timed(() => connection.ping())).tookMs)
        refresh = Math.min(refresh, (await context.timed(() => context.refresh(connection, holdings))).tookMs)
      }
      assert.ok(refresh < 1 + ping * count / 5, `refreshing ${count} locks took ${refresh.toFixed(1)} ms, a ping ${ping.toFixed(2)} ms`)
    },
  },
  '07': {
    level: 'MUST', title: 'a refresh prolongs from now and leaves token and owner', requires: allOf(needsTokens, needsInspection, needsLease),
    async run(context) {
      const connection = await context.open()
      const { result: holding, span: grant } = await spanned(() => context.take(connection, context.request(context.name(), { leaseMs: 20_000 })))
      const before = await context.inspect(connection, holding.name)
      await context.sleep(100)
      const { span: refresh } = await spanned(() => context.refresh(connection, [holding], 20_000))
      const after = await context.inspect(connection, holding.name)
      assert.equal(after?.fencingToken, holding.fencingToken, 'the token after the refresh')
      assert.equal(after?.owner, holding.owner, 'the owner after the refresh')
      const byMs = (after?.expiresAt ?? 0) - (before?.expiresAt ?? 0)
      const { leastMs, mostMs } = between(grant, refresh)
      assert.ok(byMs >= leastMs - 20 && byMs <= mostMs + 20, `a refresh ${Math.round(leastMs)} to ${Math.round(mostMs)} ms later moved the expiry by ${byMs} ms`)
    },
  },
})

function leaseIsNotRevived(): CaseBody {
  return {
    title: 'an expired lease is not revived, even if nobody took it',
    async run(context) {
      const { leaseMs } = context
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.request(context.name(), { leaseMs }))
      await context.sleep(leaseMs + context.facts.capabilities.clockUncertaintyMs + 100)
      assert.deepEqual(await context.refresh(holder, [holding], leaseMs), [holding.owner])
      await context.mustBeFree(other, holding.name, 'its lease is over, and a refresh does not bring it back')
    },
  }
}

function deadSessionIsNoSuccess(): CaseBody {
  return {
    title: 'refreshing on a session that has ended rejects',
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.name())
      connection.destroy()
      await assert.rejects(context.refresh(connection, [holding]), 'a dead session was called alive')
    },
  }
}
