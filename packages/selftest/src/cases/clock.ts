import assert from 'node:assert/strict'
import type { LockHolding, SqlSession, StoreDialect } from '@sched/core/spi'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { needsLease, needsStore } from '../facts.ts'
import { withShiftedDate } from './shifted-date.ts'

const hourMs = 3_600_000

export const clockCases: readonly ConformanceCase[] = defineGroup('clock', {
  '01': {
    level: 'MUST', title: 'a client whose clock is wrong by an hour takes nothing too early', requires: needsLease,
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      for (const shiftMs of [hourMs, -hourMs]) {
        await withShiftedDate(shiftMs, async () => {
          await context.mustBeRefused(other, holding.name, 'its lease is not over by the database\'s clock')
          assert.equal(await context.isHeld(other, holding), 'mine')
          assert.deepEqual(await context.refresh(other, [holding]), [])
        })
      }
    },
  },
  '02': {
    level: 'MUST', title: 'a client whose clock is wrong by an hour neither shortens nor lengthens a lease', requires: needsLease, leases: 2,
    async run(context) {
      const { leaseMs } = context
      const [connection, other] = [await context.open(), await context.open()]
      const take = (text: string): Promise<LockHolding> => context.take(connection, context.request(context.name(text), { leaseMs }))
      const ahead = await withShiftedDate(hourMs, () => take('ahead'))
      const behind = await withShiftedDate(-hourMs, () => take('behind'))
      await context.mustBeRefused(other, behind.name, 'its lease has just begun by the database\'s clock')
      await context.takeWithin(other, ahead.name, leaseMs + context.graceMs)
      await context.takeWithin(other, behind.name, context.graceMs)
    },
  },
  '03': {
    level: 'MUST', title: 'the store tells the time in milliseconds, and its clock goes at the same speed as ours', requires: needsStore,
    async run(context) {
      const { store, session } = await context.openStore()
      const readings: number[] = []
      const startedAt = performance.now()
      for (let reading = 0; reading < 6; reading += 1) {
        if (reading > 0) await context.sleep(47)
        readings.push(await databaseNow(store, session))
      }
      const passedMs = performance.now() - startedAt
      const [first = 0, last = 0] = [readings[0], readings.at(-1)]
      assert.ok(readings.every(Number.isSafeInteger), `the readings are ${readings.join(', ')}`)
      const slackMs = 40 + context.facts.capabilities.clockUncertaintyMs + context.promptMs / 10
      assert.ok(Math.abs(last - first - passedMs) <= slackMs, `the database counted ${last - first} ms while ${Math.round(passedMs)} ms passed here`)
      assert.ok(readings.some((at) => at % 1_000 !== first % 1_000), 'the readings are whole seconds')
    },
  },
  '04': {
    level: 'SHOULD', title: 'the clock of the database is right to the minute, and in UTC', requires: needsStore,
    async run(context) {
      const { store, session } = await context.openStore()
      const offsetMs = await databaseNow(store, session) - Date.now()
      assert.ok(Math.abs(offsetMs) < 60_000, `the database's clock and this host's are ${Math.round(offsetMs / 1000)} s apart: schedules fire by the database's`)
    },
  },
})

async function databaseNow({ sql }: StoreDialect, session: SqlSession): Promise<number> {
  const { rows } = await session.run({ text: `SELECT ${sql.nowMs} AS db_now${sql.dual}`, params: [] })
  return rows[0]?.['db_now'] as number
}
