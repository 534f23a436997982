import assert from 'node:assert/strict'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { allOf, needsInspection, needsServerSessions, needsSession, needsSql } from '../facts.ts'

export const pinningCases: readonly ConformanceCase[] = defineGroup('pinning', {
  '01': {
    level: 'MUST', title: 'every connection is a session of its own, whatever it is for', requires: needsServerSessions,
    async run(context) {
      const connections = [await context.open(), await context.open(), await context.open({ purpose: 'wait' }), await context.open({ purpose: 'wait' })]
      const ids = connections.map(({ id }) => id)
      assert.equal(new Set(ids).size, 4, `the ids are ${ids.join(', ')}`)
      assert.deepEqual([...await context.sessions()].sort(), [...ids].sort(), 'the sessions that the server lists')
    },
  },
  '02': {
    level: 'MUST', title: 'the end of one connection is not the end of another',
    async run(context) {
      const [first, second, third] = [await context.open(), await context.open(), await context.open()]
      const holding = await context.take(second, context.name())
      first.destroy()
      await context.sleep(50)
      await second.ping()
      assert.equal(await context.isHeld(second, holding), 'mine')
      await context.mustBeRefused(third, holding.name, 'another connection than the destroyed one holds it')
    },
  },
  '03': {
    level: 'MUST', title: 'a lock is taken, refreshed, asked about and released on one session', requires: allOf(needsInspection, needsSession, needsServerSessions),
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const { id } = holder
      const holding = await context.take(holder, context.name())
      const seen = async (after: string): Promise<void> => {
        assert.equal((await context.inspect(other, holding.name))?.sessionId, id, `the session that holds it after ${after}`)
        assert.equal(holder.id, id, `the id of the connection after ${after}`)
      }
      await seen('the grant')
      await context.refresh(holder, [holding])
      await seen('a refresh')
      await context.isHeld(holder, holding)
      await holder.ping()
      await seen('a ping')
      assert.deepEqual(await context.release(holder, holding), { status: 'released' })
      assert.equal(await context.inspect(other, holding.name), null)
    },
  },
  '04': {
    level: 'MUST', title: 'a lock outlives the transactions of its session', requires: needsSql,
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      const { sql } = holder
      assert.ok(sql !== undefined, 'the connection runs SQL')
      for (const end of ['commit', 'rollback'] as const) {
        await sql.begin()
        await sql[end]()
        await context.mustBeRefused(other, holding.name, `a ${end} on its session is no release`)
        assert.equal(await context.isHeld(holder, holding), 'mine', `after a ${end}`)
      }
    },
  },
  '05': {
    level: 'MUST', title: 'the library keeps many locks on one session', requires: needsServerSessions, leases: 1,
    async run(context) {
      const locks = context.locks({ leaseMs: 20_000 })
      const leases = await Promise.all(Array.from({ length: 20 }, (_, index) => locks.acquire(context.name(`${index}`).name, { waitMs: 0 })))
      const sessions = await context.sessions(context.libraryLabel)
      assert.equal(sessions.length, 1, `20 locks are held on ${sessions.length} sessions of ${context.libraryLabel}`)
      for (const lease of leases) assert.deepEqual(await lease.release(), { status: 'released' })
    },
  },
  '06': {
    level: 'MUST', title: 'many acquisitions leave at most one idle session', requires: needsServerSessions, budgetMs: 40_000, leases: 1,
    async run(context) {
      // A long lease, so that it is neither the server nor the library's own limit that ends what was left idle.
      const locks = context.locks({ leaseMs: 60_000 })
      const name = context.name().name
      for (let cycle = 0; cycle < 40; cycle += 1) {
        const lease = await locks.acquire(name, { waitMs: cycle % 2 === 0 ? 0 : 10_000 })
        assert.deepEqual(await lease.release(), { status: 'released' }, `cycle ${cycle}`)
      }
      await context.eventually('at most one session of the library is left', context.soonMs, async () => (await context.sessions(context.libraryLabel)).length <= 1)
    },
  },
})
