import assert from 'node:assert/strict'
import { defineGroup, type CaseBody, type ConformanceCase } from '../case.ts'
import { allOf, needsLockTable, needsStore, needsTokens } from '../facts.ts'

export const fencingCases: readonly ConformanceCase[] = defineGroup('fencing', {
  '01': { level: 'MUST', requires: needsTokens, ...grantsCarryTokens(), opposite: grantsCarryNone() },
  '02': {
    level: 'MUST', title: 'tokens only grow, from release to release', requires: needsTokens,
    async run(context) {
      const connections = [await context.open(), await context.open()] as const
      const name = context.name()
      let last = 0
      for (let round = 0; round < 10; round += 1) {
        const connection = connections[round % 2 === 0 ? 0 : 1]
        const holding = await context.take(connection, name)
        const token = holding.fencingToken ?? 0
        assert.ok(token > last, `round ${round}: the token ${token} came after ${last}`)
        last = token
        await context.release(connection, holding)
      }
    },
  },
  '03': {
    level: 'MUST', title: 'whoever takes over an expired lease has the larger token', requires: needsTokens, leases: 2,
    async run(context) {
      const { leaseMs } = context
      const [first, second] = [await context.open({ leaseMs }), await context.open()]
      const old = await context.take(first, context.request(context.name(), { leaseMs }))
      const { holding } = await context.takeWithin(second, old.name, leaseMs + context.graceMs)
      assert.ok((holding.fencingToken ?? 0) > (old.fencingToken ?? 0), `the token ${holding.fencingToken} came after ${old.fencingToken}`)
    },
  },
  '04': {
    level: 'MUST', title: 'tokens grow even when the row was purged', requires: allOf(needsTokens, needsLockTable, needsStore),
    async run(context) {
      const connection = await context.open()
      const { session, tables } = await context.openStore()
      const name = context.name()
      const before = await context.take(connection, name)
      await context.release(connection, before)
      await context.sleep(5)
      const { affected } = await session.run({ text: `DELETE FROM ${tables.locks} WHERE lock_name LIKE ?`, params: [`${name.canonical.slice(0, name.canonical.lastIndexOf(':'))}%`] })
      assert.ok(affected >= 1, 'the row of the lock is in the table of the run')
      const after = await context.take(connection, name)
      assert.ok((after.fencingToken ?? 0) > (before.fencingToken ?? 0), `the token ${after.fencingToken} came after ${before.fencingToken}`)
    },
  },
  '05': {
    level: 'MUST', title: 'a holding with an older token is not the present one', requires: needsTokens,
    async run(context) {
      const connection = await context.open()
      const request = context.request(context.name())
      const holding = await context.take(connection, request)
      const older = { ...holding, fencingToken: (holding.fencingToken ?? 1) - 1 }
      assert.deepEqual(await context.release(connection, older), { status: 'not-held' })
      assert.deepEqual(await context.refresh(connection, [older]), [older.owner])
      assert.equal(await context.isHeld(connection, holding), 'mine')
    },
  },
})

function grantsCarryTokens(): CaseBody {
  return {
    title: 'every grant carries a token: a positive integer that JavaScript keeps exactly',
    async run(context) {
      const connection = await context.open()
      const { fencingToken } = await context.take(connection, context.name())
      assert.ok(Number.isSafeInteger(fencingToken) && (fencingToken as number) > 0, `the token is ${fencingToken}`)
    },
  }
}

function grantsCarryNone(): CaseBody {
  return {
    title: 'a source without tokens makes none up',
    async run(context) {
      const { fencingToken } = await context.take(await context.open(), context.name())
      assert.equal(fencingToken, undefined)
    },
  }
}
