import { lockTable } from '@sched/dialect-locktable'
import { runConformance, type Report } from '@sched/selftest'
import { expect, it } from 'vitest'
import { sqlserver } from '../src/index.ts'
import { startStandIn } from './support/scene.ts'

const failures = ({ cases }: Report): string[] => cases.filter(({ verdict }) => verdict === 'fail').map(({ id, failure }) => `${id}: ${failure?.message}`)

// A TDS server that is not SQL Server: no sys.dm_tran_locks, no MERGE, a number of its own for unknown objects, negative codes without errors.
it('the suite on a TDS stand-in that answers like Babelfish (codes as documented): native locks pass with nothing to configure', async () => {
  const { url } = await startStandIn({ kind: 'peer' })
  const dialect = sqlserver({ url })
  const report = await runConformance(dialect, { url, allowKill: true, leaseMs: 1_000 })
  expect(failures(report)).toEqual([])
  expect(report.verdict).toBe('passed')
  expect(report.probe?.findings.map(({ level, code }) => `${level} ${code}`)).toEqual(['warn SCHED_UNSAFE_ENGINE', 'warn SCHED_CAPABILITY_MISSING'])
  await dialect.close()
}, 240_000)

it('the suite on a TDS stand-in that answers like Babelfish as published: native locks are refused, the lock table passes (P11)', async () => {
  const { url } = await startStandIn({ kind: 'stock-peer' })
  const native = sqlserver({ url })
  expect(await runConformance(native, { url, leaseMs: 1_000 })).toMatchObject({ verdict: 'refused', problems: [{ code: 'SCHED_UNSAFE_ENGINE' }] })
  const dialect = lockTable(sqlserver({ url }))
  const report = await runConformance(dialect, { url, allowKill: true, leaseMs: 1_000 })
  expect(failures(report)).toEqual([])
  expect(report.verdict).toBe('passed')
  await dialect.close()
}, 240_000)
