import assert from 'node:assert/strict'
import { defineGroup, type CaseBody, type ConformanceCase } from '../case.ts'
import { needsInspection, needsLease } from '../facts.ts'

export const heldCases: readonly ConformanceCase[] = defineGroup('isHeld', {
  '01': {
    level: 'MUST', title: 'the holder is told that the lock is its own, each time it asks',
    async run(context) {
      const connection = await context.open()
      const holdings = [await context.take(connection, context.name('a')), await context.take(connection, context.name('b'))]
      for (const holding of [...holdings, ...holdings]) assert.equal(await context.isHeld(connection, holding), 'mine')
    },
  },
  '02': {
    level: 'MUST', title: 'nobody else is told that the lock is its own, or free',
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      const foreign = { ...holding, owner: context.request(holding.name).owner }
      const answer = await context.isHeld(other, foreign)
      assert.ok(answer === 'other' || answer === 'unknown', `a stranger was told ${answer}`)
    },
  },
  '03': {
    level: 'MUST', title: 'a released lock is nobody\'s',
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.name())
      await context.release(connection, holding)
      const answer = await context.isHeld(connection, holding)
      assert.ok(answer === 'free' || answer === 'unknown', `after its release it is ${answer}`)
    },
  },
  '04': { level: 'MUST', requires: needsLease, leases: 2, ...expiredIsFree(), opposite: deadIsAnError() },
  '05': {
    level: 'MUST', title: 'asking takes nothing and frees nothing',
    async run(context) {
      const [asker, other] = [await context.open(), await context.open()]
      const name = context.name()
      const { owner } = context.request(name)
      assert.notEqual(await context.isHeld(asker, { name, owner, fencingToken: undefined }), 'mine')
      await context.sleep(30)
      const holding = await context.take(other, name)
      await context.isHeld(asker, { name, owner, fencingToken: undefined })
      await context.mustBeRefused(asker, name, 'it was only asked about')
      assert.deepEqual(await context.release(other, holding), { status: 'released' })
    },
  },
  '06': {
    level: 'MUST', title: 'a source that knows the holder tells held from free', requires: needsInspection,
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      const foreign = { ...holding, owner: context.request(holding.name).owner }
      assert.equal(await context.isHeld(other, foreign), 'other')
      await context.release(holder, holding)
      assert.equal(await context.isHeld(other, foreign), 'free')
    },
  },
})

function expiredIsFree(): CaseBody {
  return {
    title: 'an expired lease is nobody\'s, even if nobody took it',
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.request(context.name(), { leaseMs: context.leaseMs }))
      await context.sleep(context.leaseMs + 100)
      assert.equal(await context.isHeld(connection, holding), 'free')
    },
  }
}

function deadIsAnError(): CaseBody {
  return {
    title: 'asking on a session that has ended rejects',
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.name())
      connection.destroy()
      await assert.rejects(context.isHeld(connection, holding), 'a dead session answered')
    },
  }
}
