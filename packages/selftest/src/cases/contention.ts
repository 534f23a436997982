import assert from 'node:assert/strict'
import { defineGroup, type ConformanceCase } from '../case.ts'

export const contentionCases: readonly ConformanceCase[] = defineGroup('contention', {
  '01': {
    level: 'MUST', title: 'of many that try at the same instant exactly one is granted', budgetMs: 15_000,
    async run(context) {
      const connections = await Promise.all(Array.from({ length: 8 }, () => context.open()))
      for (let round = 0; round < 6; round += 1) {
        const name = context.name(`round-${round}`)
        const outcomes = await Promise.all(connections.map((connection) => context.tryLock(connection, context.request(name))))
        assert.equal(outcomes.filter(({ status }) => status === 'granted').length, 1, `round ${round}: ${outcomes.map(({ status }) => status).join(', ')}`)
      }
    },
  },
  '02': {
    level: 'MUST', title: 'different names taken at the same instant are all granted',
    async run(context) {
      const connections = await Promise.all(Array.from({ length: 6 }, () => context.open()))
      await Promise.all(connections.map((connection, index) => context.take(connection, context.name(`${index}`))))
    },
  },
  '03': {
    level: 'MUST', title: 'a counter without any protection of its own loses no update under the lock', budgetMs: 30_000,
    async run(context) {
      const connections = await Promise.all(Array.from({ length: 5 }, () => context.open()))
      const name = context.name()
      let counter = 0
      let last = 0
      await Promise.all(connections.map(async (connection) => {
        for (let turn = 0; turn < 8; turn += 1) {
          const { holding } = await context.takeWithin(connection, name, 25_000)
          const read = counter
          await context.sleep(2)
          counter = read + 1
          if (holding.fencingToken !== undefined) assert.ok(holding.fencingToken > last, `the token ${holding.fencingToken} came after ${last}`)
          last = holding.fencingToken ?? 0
          assert.deepEqual(await context.release(connection, holding), { status: 'released' })
        }
      }))
      assert.equal(counter, 40, 'updates were lost')
    },
  },
  '04': {
    level: 'MUST', title: 'fifty flows of one process take turns', budgetMs: 30_000,
    async run(context) {
      const locks = context.locks({ leaseMs: 20_000 })
      const name = context.name().name
      let inside = 0
      let counter = 0
      await Promise.all(Array.from({ length: 50 }, async () => {
        const lease = await locks.acquire(name, { waitMs: 25_000 })
        inside += 1
        assert.equal(inside, 1, 'two flows were inside at once')
        const read = counter
        await new Promise(setImmediate)
        counter = read + 1
        inside -= 1
        assert.deepEqual(await lease.release(), { status: 'released' })
      }))
      assert.equal(counter, 50, 'updates were lost')
    },
  },
  '05': {
    level: 'MUST', title: 'a lock of the library is not re-entrant, and keeps others out',
    async run(context) {
      const other = await context.open()
      const locks = context.locks({ leaseMs: 20_000 })
      const name = context.name()
      const first = await locks.tryAcquire(name.name)
      assert.equal(first.status, 'acquired')
      assert.deepEqual(await locks.tryAcquire(name.name), { status: 'refused' })
      await context.mustBeRefused(other, name, 'the library holds it')
      if (first.status === 'acquired') assert.deepEqual(await first.lease.release(), { status: 'released' })
      const holding = await context.take(other, name)
      assert.deepEqual(await locks.tryAcquire(name.name), { status: 'refused' })
      await context.release(other, holding)
    },
  },
})
