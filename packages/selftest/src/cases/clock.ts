import assert from 'node:assert/strict'
import type { LockHolding, SqlSession, StoreDialect } from '@sched/core/spi'
import { defineGroup, type ConformanceCase } from '../case.ts'
import { needsLease, needsStore } from '../facts.ts'
import { withShiftedDate } from './shifted-date.ts'
import { between, spanned, type Span } from './spans.ts'

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
      const startedAt = performance.now()
      const behind = await withShiftedDate(-hourMs, () => take('behind'))
      // The server counts from when it granted, after `startedAt`: whoever gets it earlier than a lease from then gets it too early.
      await context.takeWithin(other, behind.name, leaseMs + context.graceMs)
      const afterMs = performance.now() - startedAt
      assert.ok(afterMs >= leaseMs - 5, `it was granted to another ${Math.round(afterMs)} ms into a lease of ${leaseMs} ms`)
      await context.takeWithin(other, ahead.name, context.graceMs)
    },
  },
  '03': {
    level: 'MUST', title: 'the store tells the time in milliseconds, and its clock goes at the same speed as ours', requires: needsStore,
    async run(context) {
      const { store, session } = await context.openStore()
      const readings: number[] = []
      const spans: Span[] = []
      for (let reading = 0; reading < 6; reading += 1) {
        if (reading > 0) await context.sleep(47)
        const { result, span } = await spanned(() => databaseNow(store, session))
        readings.push(result)
        spans.push(span)
      }
      const [first = 0, last = 0] = [readings[0], readings.at(-1)]
      assert.ok(readings.every(Number.isSafeInteger), `the readings are ${readings.join(', ')}`)
      const slackMs = 40 + context.facts.capabilities.clockUncertaintyMs + context.promptMs / 10
      const { leastMs, mostMs } = between(spans[0]!, spans.at(-1)!)
      assert.ok(last - first >= leastMs - slackMs && last - first <= mostMs + slackMs, `the database counted ${last - first} ms while ${Math.round(leastMs)} to ${Math.round(mostMs)} ms passed here`)
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
