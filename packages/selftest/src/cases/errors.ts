import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import type { ErrorClass } from '@sched/core/spi'
import type { CaseContext } from '../case-context.ts'
import { defineGroup, type CaseBody, type ConformanceCase } from '../case.ts'
import { needsLockTable, needsPassword, needsSql } from '../facts.ts'

export const errorCases: readonly ConformanceCase[] = defineGroup('errors', {
  '01': {
    level: 'MUST', title: 'what the dialect does not know is unknown, whatever was thrown',
    async run({ source }) {
      const strange: readonly unknown[] = [
        new Error('made up by the case'), new TypeError('x is not a function'), Object.assign(new Error('odd'), { code: 'NO_SUCH_CODE', errno: 999_999 }),
        'text', 42, null, undefined, {}, Symbol('odd'),
      ]
      for (const thrown of strange) assert.equal(source.classify(thrown), 'unknown', `the class of ${inspect(thrown)}`)
    },
  },
  '02': {
    level: 'MUST', title: 'trying on a lost connection is an error, never a refusal',
    async run(context) {
      const connection = await context.open()
      connection.destroy()
      const error = await errorOf(context.tryLock(connection, context.request(context.name())))
      assert.equal(context.source.classify(error), 'connection-lost', String(error))
    },
  },
  '03': {
    level: 'MUST', title: 'releasing on a lost connection is an error, never a success',
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.name())
      connection.destroy()
      const outcome = await context.release(connection, holding).then(({ status }) => status, (error: unknown) => context.source.classify(error))
      assert.ok(outcome === 'connection-lost' || outcome === 'indeterminate', `the release was ${outcome}`)
    },
  },
  '04': {
    level: 'MUST', title: 'looking through a lost connection is an error, never an answer',
    async run(context) {
      const connection = await context.open()
      const holding = await context.take(connection, context.name())
      connection.destroy()
      for (const look of [() => context.isHeld(connection, holding), () => context.inspect(connection, holding.name), () => context.refresh(connection, [holding])]) {
        assert.equal(context.source.classify(await errorOf(look())), 'connection-lost')
      }
    },
  },
  '05': { level: 'MUST', requires: needsLockTable, ...missingTableIsSaid(), opposite: noTableIsNeeded() },
  '06': {
    level: 'MUST', title: 'a failed statement on the session costs no lock', requires: needsSql,
    async run(context) {
      const [holder, other] = [await context.open(), await context.open()]
      const holding = await context.take(holder, context.name())
      const error = await errorOf(holder.sql!.run({ text: `SELECT x FROM no_such_table_${Date.now()}`, params: [] }))
      assert.equal(context.source.classify(error), 'missing-table' satisfies ErrorClass, String(error))
      assert.equal(await context.isHeld(holder, holding), 'mine')
      await context.mustBeRefused(other, holding.name, 'a statement failed on its session, no more')
    },
  },
  '07': {
    level: 'MUST', title: 'no error shows the password', requires: needsPassword,
    async run(context) {
      const connection = await context.open()
      connection.destroy()
      const errors = [
        await errorOf(context.tryLock(connection, context.request(context.name()))),
        await errorOf(context.open({ signal: AbortSignal.abort() })),
        await errorOf(connection.ping()),
      ]
      if (connection.sql !== undefined) errors.push(await errorOf(connection.sql.run({ text: 'SELECT x FROM no_such_table', params: [] })))
      mustNotShow(context, errors)
    },
  },
})

function mustNotShow(context: CaseContext, errors: readonly unknown[]): void {
  for (const error of errors) {
    const shown = inspect(error, { depth: 6 })
    assert.ok(!context.secrets.some((secret) => shown.includes(secret)), `the error ${error instanceof Error ? context.redact(error.message) : typeof error} carries the password`)
  }
}

function missingTableIsSaid(): CaseBody {
  return {
    title: 'a lock table that is not there is an error, never a refusal',
    async run(context) {
      const { tables } = context.openOptions()
      assert.ok(tables !== undefined, 'the run has tables')
      const connection = await context.open({ tables: { ...tables, locks: context.dialect.store!.sql.quote('st_no_such_table') } })
      const holding = { name: context.name(), owner: 'nobody', fencingToken: undefined }
      for (const work of [() => context.tryLock(connection, context.request(holding.name)), () => context.release(connection, holding), () => context.inspect(connection, holding.name)]) {
        assert.equal(context.source.classify(await errorOf(work())), 'missing-table' satisfies ErrorClass)
      }
    },
  }
}

function noTableIsNeeded(): CaseBody {
  return {
    title: 'a native lock needs no table',
    async run(context) {
      const { signal, leaseMs, label, sharedSessions = false } = context.openOptions()
      const connection = await context.source.open('pulse', { signal, leaseMs, label, sharedSessions })
      try { await context.mustBeFree(connection, context.name(), 'nobody holds it') } finally { connection.destroy() }
    },
  }
}

async function errorOf(work: Promise<unknown>): Promise<unknown> {
  return work.then((answer) => assert.fail(`it answered ${JSON.stringify(answer)}`), (error: unknown) => error)
}
