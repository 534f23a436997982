import assert from 'node:assert/strict'
import { defineGroup, type CaseBody, type ConformanceCase } from '../case.ts'
import { needsLease } from '../facts.ts'

export const ownerCases: readonly ConformanceCase[] = defineGroup('owner', {
  '01': {
    level: 'MUST', title: 'nobody else releases a lock',
    async run(context) {
      const [holder, other, third] = [await context.open(), await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      const foreign = { ...holding, owner: context.request(holding.name).owner }
      assert.deepEqual(await context.release(other, foreign), { status: 'not-held' }, 'a stranger released the lock')
      await context.mustBeRefused(third, holding.name, 'a stranger tried to release it')
      assert.equal(await context.isHeld(holder, holding), 'mine')
    },
  },
  '02': {
    level: 'MUST', title: 'nobody else prolongs a lock', requires: needsLease,
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.request(context.name(), { leaseMs: 20_000 }))
      const before = await context.inspect(connection, holding.name)
      const foreign = { ...holding, owner: context.request(holding.name).owner }
      assert.deepEqual(await context.refresh(connection, [foreign], 60_000), [foreign.owner])
      assert.deepEqual(await context.inspect(connection, holding.name), before, 'the refresh of a stranger changed the row')
    },
  },
  '03': { level: 'MUST', requires: needsLease, ...ownerTravels(), opposite: ownerIsTheSession() },
  '04': {
    level: 'MUST', title: 'a holder whose lease was taken over releases nothing', requires: needsLease, leases: 2,
    async run(context) {
      const [first, second, third] = [await context.open(), await context.open(), await context.open()]
      const old = await context.take(first, context.request(context.name(), { leaseMs: context.leaseMs }))
      const { holding: successor } = await context.takeWithin(second, old.name, context.leaseMs + context.graceMs)
      assert.deepEqual(await context.release(first, old), { status: 'not-held' })
      await context.mustBeRefused(third, old.name, 'the successor holds it')
      assert.equal(await context.isHeld(second, successor), 'mine')
    },
  },
  '05': {
    level: 'MUST', title: 'owners are compared letter by letter', requires: needsLease,
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.request(context.name(), { owner: 'Owner-ab12' }))
      for (const owner of ['owner-ab12', 'OWNER-AB12', 'Owner-ab12 ', 'Owner-ab1', 'Owner-ab123', 'Owner-ab1_', 'Owner-ab1%']) {
        const foreign = { ...holding, owner }
        assert.deepEqual(await context.release(connection, foreign), { status: 'not-held' }, `the owner ${JSON.stringify(owner)} released a lock of "Owner-ab12"`)
        assert.notEqual(await context.isHeld(connection, foreign), 'mine', `the lock of "Owner-ab12" was ${JSON.stringify(owner)}'s`)
      }
      assert.equal(await context.isHeld(connection, holding), 'mine')
    },
  },
})

function ownerTravels(): CaseBody {
  return {
    title: 'a lease belongs to its owner, whatever connection it comes on',
    async run(context) {
      const [first, second, third] = [await context.open(), await context.open(), await context.open()]
      const holding = await context.take(first, context.name())
      first.destroy()
      assert.equal(await context.isHeld(second, holding), 'mine')
      assert.deepEqual(await context.refresh(second, [holding]), [])
      assert.deepEqual(await context.release(second, holding), { status: 'released' })
      await context.mustBeFree(third, holding.name, 'its owner has released it')
    },
  }
}

function ownerIsTheSession(): CaseBody {
  return {
    title: 'the lock of a session is not released on another session',
    async run(context) {
      const [holder, other, third] = [await context.open(), await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      assert.deepEqual(await context.release(other, holding), { status: 'not-held' })
      assert.notEqual(await context.isHeld(other, holding), 'mine')
      await context.mustBeRefused(third, holding.name, 'its session still holds it')
      assert.deepEqual(await context.release(holder, holding), { status: 'released' })
    },
  }
}
