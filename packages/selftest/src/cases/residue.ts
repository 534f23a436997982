import assert from 'node:assert/strict'
import { defineGroup, type CaseBody, type ConformanceCase } from '../case.ts'
import { needsDiagnostics, needsLease, needsServerSessions } from '../facts.ts'
import { rejection } from './rejection.ts'

export const residueCases: readonly ConformanceCase[] = defineGroup('residue', {
  '01': {
    level: 'MUST', title: 'the diagnostics count locks, those of the label alone', requires: needsDiagnostics,
    async run(context) {
      const connection = await context.open()
      assert.equal(await context.lockCount(), 0)
      const holdings = [await context.take(connection, context.name()), await context.take(connection, context.name()), await context.take(connection, context.name())]
      assert.equal(await context.lockCount(), 3)
      assert.equal(await context.lockCount(`${context.label}-2`), 0)
      await context.release(connection, holdings[0]!)
      assert.equal(await context.lockCount(), 2)
    },
  },
  '02': {
    level: 'MUST', title: 'a hundred turns leave nothing on a connection that stays', requires: needsDiagnostics, budgetMs: 20_000,
    async run(context) {
      const connection = await context.open()
      const name = context.name()
      for (let turn = 0; turn < 100; turn += 1) {
        const holding = await context.take(connection, name)
        assert.deepEqual(await context.release(connection, holding), { status: 'released' }, `turn ${turn}`)
      }
      assert.equal(await context.lockCount(), 0)
    },
  },
  '03': { level: 'MUST', needs: needsDiagnostics, requires: needsLease, leases: 2, ...expiredCountsNothing(), opposite: destroyedCountsNothing() },
  '04': {
    level: 'MUST', title: 'closing the library frees what it held', leases: 1,
    async run(context) {
      const other = await context.open()
      const locks = context.locks({ leaseMs: 30_000 })
      const names = [context.name('a'), context.name('b')]
      for (const { name } of names) await locks.acquire(name, { waitMs: 0 })
      for (const name of names) await context.mustBeRefused(other, name, 'the library holds it')
      await locks.close()
      for (const name of names) await context.takeWithin(other, name, context.soonMs)
    },
  },
  '05': {
    level: 'MUST', title: 'acquisitions aborted at any moment leave nothing', budgetMs: 30_000, leases: 1,
    async run(context) {
      const holder = await context.open()
      const locks = context.locks({ leaseMs: 20_000 })
      const name = context.name()
      const holding = await context.take(holder, name)
      for (let round = 0; round < 12; round += 1) {
        const abort = new AbortController()
        setTimeout(() => abort.abort(), round * 3)
        assert.equal(await rejection(locks.acquire(name.name, { waitMs: 5_000, signal: abort.signal })), 'SCHED_ABORTED', `round ${round}`)
      }
      await context.release(holder, holding)
      await context.takeWithin(holder, name, context.soonMs)
    },
  },
  '06': {
    level: 'MUST', title: 'a destroyed connection is gone from the server, also in the middle of a wait', requires: needsServerSessions,
    async run(context) {
      const [holder, idle, waiter] = [await context.open(), await context.open({ label: `${context.label}-idle` }), await context.open({ purpose: 'wait', label: `${context.label}-wait` })]
      const { name } = await context.take(holder, context.name())
      const waiting = context.source.strategy.lock?.(waiter, context.request(name), 1_500).then(() => undefined, () => undefined)
      await context.sleep(80)
      waiter.destroy()
      idle.destroy()
      await waiting
      await context.eventually('the idle session ends', context.soonMs, async () => (await context.sessions(`${context.label}-idle`)).length === 0)
      await context.eventually('the waiting session ends with its wait', 1_500 + context.soonMs, async () => (await context.sessions(`${context.label}-wait`)).length === 0)
    },
  },
})

function expiredCountsNothing(): CaseBody {
  return {
    title: 'an expired lease counts as nothing',
    async run(context) {
      const connection = await context.open()
      await context.take(connection, context.request(context.name(), { leaseMs: context.leaseMs }))
      await context.take(connection, context.name())
      await context.sleep(context.leaseMs + 100)
      assert.equal(await context.lockCount(), 1, 'one is over, one is held')
    },
  }
}

function destroyedCountsNothing(): CaseBody {
  return {
    title: 'a session that was destroyed while it held twenty locks leaves none',
    async run(context) {
      const connection = await context.open()
      for (let index = 0; index < 20; index += 1) await context.take(connection, context.name())
      connection.destroy()
      await context.eventually('its locks are gone', context.soonMs, async () => await context.lockCount() === 0)
    },
  }
}
