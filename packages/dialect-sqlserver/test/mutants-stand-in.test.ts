import { lockTable } from '@sched/dialect-locktable'
import { conformanceCases, runConformance } from '@sched/selftest'
import type { Dialect, LockConnection, OpenOptions, SqlSession, StoreDialect } from '@sched/core/spi'
import { describe, expect, it } from 'vitest'
import { sqlserver } from '../src/index.ts'
import { openApplockConnection, type ApplockConnection } from '../src/locks/applock-connection.ts'
import { connectorFor } from '../src/options.ts'
import type { PhysicalSession, ProcedureAnswer, ProcedureValue } from '../src/session/physical-session.ts'
import { startStandIn } from './support/scene.ts'

type Call = (procedure: string, values: Readonly<Record<string, ProcedureValue>>, limitMs: number) => Promise<ProcedureAnswer>

/** The dialect with its procedures called another way: what a mistake in the dialect's own code would do. */
function withCalls(url: string, change: (call: Call, open: () => Promise<ApplockConnection>) => Call): Dialect {
  const inner = sqlserver({ url })
  const open = async (_purpose: 'pulse' | 'wait', options: OpenOptions): Promise<ApplockConnection> => {
    const connection = await openApplockConnection(connectorFor({ url }), options)
    const call = change(connection.session.call.bind(connection.session), () => openApplockConnection(connectorFor({ url }), options))
    const session = new Proxy(connection.session, {
      get: (target, name) => {
        if (name === 'call') return call
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value as (...values: unknown[]) => unknown).bind(target) : value
      },
    })
    return { ...connection, session }
  }
  const source = inner.locks
  return { ...inner, locks: { ...source, open: open, probe: (options) => source.probe(options) } }
}

/** The dialect's statements written another way. */
function withStatements(inner: Dialect, change: (text: string) => string): Dialect {
  const { store } = inner
  const changed: StoreDialect = {
    ...store!,
    async open(purpose, options) {
      const session: SqlSession = await store!.open(purpose, options)
      return { ...session, run: ({ text, params }) => session.run({ text: change(text), params }) }
    },
  }
  return { ...inner, store: changed }
}

async function failedCases(dialect: Dialect, url: string, ids: readonly string[]): Promise<string[]> {
  const report = await runConformance(dialect, { url, leaseMs: 1_000, allowKill: true, cases: conformanceCases.filter(({ id }) => ids.includes(id)) })
  await dialect.close()
  return report.cases.filter(({ verdict }) => verdict === 'fail').map(({ id }) => id)
}

describe('a mistake in the dialect is caught on the TDS stand-in', () => {
  const locking: [string, string, (call: Call, open: () => Promise<ApplockConnection>) => Call][] = [
    ['TRY-01', 'the owner Transaction on both procedures', (call) => (procedure, values, limitMs) => call(procedure, { ...values, LockOwner: 'Transaction' }, limitMs)],
    ['REL-01', 'the owner left out of the release', (call) => (procedure, { LockOwner, ...values }, limitMs) => call(procedure, procedure === 'sp_getapplock' && LockOwner !== undefined ? { ...values, LockOwner } : values, limitMs)],
    ['TRY-02', 'a negative code taken for a grant', (call) => async (...parameters) => ({ ...await call(...parameters), status: 0 })],
    ['REL-01', 'a return status that is not read', (call) => async (...parameters) => ({ ...await call(...parameters), status: undefined })],
    ['REL-01', 'a release that goes to another connection', (call, open) => async (procedure, values, limitMs) => {
      if (procedure !== 'sp_releaseapplock') return call(procedure, values, limitMs)
      const other: LockConnection & { session: PhysicalSession } = await open()
      try { return { ...await other.session.call(procedure, values, limitMs), status: 0, error: undefined } } finally { other.destroy() }
    }],
    ['NAM-04', 'names cut to what the view shows', (call) => (procedure, values, limitMs) => call(procedure, { ...values, Resource: String(values['Resource']).slice(0, 12) }, limitMs)],
    ['TRY-03', 'a try that waits', (call) => (procedure, values, limitMs) => call(procedure, values['LockTimeout'] === 0 ? { ...values, LockTimeout: 4_000 } : values, limitMs)],
    ['WAI-03', 'a wait that is told in seconds', (call) => (procedure, values, limitMs) => call(procedure, typeof values['LockTimeout'] === 'number' ? { ...values, LockTimeout: Math.floor(values['LockTimeout'] / 1_000) } : values, limitMs)],
    ['OWN-01', 'any answer of a release taken for success', (call) => async (procedure, values, limitMs) => (procedure === 'sp_releaseapplock' ? { ...await call(procedure, values, limitMs), status: 0, error: undefined } : call(procedure, values, limitMs))],
  ]
  it.each(locking)('%s: %s', async (id, _mistake, change) => {
    const { url } = await startStandIn()
    expect(await failedCases(withCalls(url, change), url, [id])).toEqual([id])
  }, 60_000)

  it.each<[string, string, (text: string) => string]>([
    ['TRY-01', 'MERGE', (text) => text.replace(/^INSERT INTO (\S+).*/s, 'MERGE INTO $1 USING (SELECT 1 AS one) s ON 1 = 0 WHEN NOT MATCHED THEN INSERT DEFAULT VALUES')],
    ['TRY-01', 'OUTPUT in place of the count', (text) => text.replace(' WHERE lock_name = ? AND (lock_owner', ' OUTPUT inserted.fencing_token WHERE lock_name = ? AND (lock_owner')],
    ['ERR-05', 'a table that is not there taken for a lock that is free', (text) => text.replace('st_no_such_table', 'sqlite_master')],
  ])('%s, lock table: %s', async (id, _mistake, change) => {
    const { url } = await startStandIn()
    expect(await failedCases(lockTable(withStatements(sqlserver({ url }), change)), url, [id])).toEqual([id])
  }, 60_000)

  it('OWN-05, lock table: owners whose trailing space does not count', async () => {
    const { url } = await startStandIn()
    const inner = sqlserver({ url })
    const { store } = inner
    // Without the mark behind it a trailing space is padding.
    const unmarked: StoreDialect = {
      ...store!,
      async open(purpose, options) {
        const session: SqlSession = await store!.open(purpose, options)
        return { ...session, run: ({ text, params }) => session.run({ text, params: params.map((value) => (typeof value === 'string' ? value.trimEnd() : value)) }) }
      },
    }
    expect(await failedCases(lockTable({ ...inner, store: unmarked }), url, ['OWN-05'])).toEqual(['OWN-05'])
  }, 60_000)

  it('and the same cases pass without it', async () => {
    const { url } = await startStandIn()
    const ids = locking.map(([id]) => id)
    expect(await failedCases(withCalls(url, (call) => call), url, ids)).toEqual([])
    expect(await failedCases(lockTable(sqlserver({ url })), url, ['TRY-01', 'ERR-05', 'OWN-05'])).toEqual([])
  }, 90_000)
})
