import { describe, expect, it } from 'vitest'
import type { Probe } from '@sched/core/spi'
import { sqlserver } from '../src/index.ts'
import { engineOf } from '../src/probe/engine.ts'
import { openOptions, startStandIn } from './support/scene.ts'
import type { StandInOptions } from './stand-in/stand-in-options.ts'

const levels = ({ findings }: Probe): unknown[] => findings.map(({ level, code }) => `${level} ${code}`)

async function looks(options: Partial<StandInOptions> = {}, user = 'sched') {
  const standIn = await startStandIn(options)
  const dialect = sqlserver({ url: standIn.urlOf(user) })
  const locks = await dialect.locks.probe(openOptions())
  const store = await dialect.store!.probe(openOptions())
  await expect.poll(() => standIn.sessions().length).toBe(0)
  return { dialect, locks, store }
}

describe('the probe on the TDS stand-in', () => {
  it('names product, version and scope, and finds nothing wrong with a plain server', async () => {
    const { dialect, locks, store } = await looks()
    expect(locks).toMatchObject({ product: 'SQL Server', version: '16.0.1000.6', scope: 'sched_test/dbo', sharedSessions: false, findings: [] })
    expect(store).toMatchObject({ product: 'SQL Server', findings: [] })
    expect(locks.capabilities).toEqual(dialect.locks.capabilities)
    expect(locks.capabilities).toMatchObject({ kind: 'session', boundedStaleness: false, serverSideWait: true, fencing: 'none', inspection: true, scope: 'database' })
    expect(dialect.locks.diagnostics).toBeDefined()
  })

  it('refuses a read-only database, locks and ledger alike (P11)', async () => {
    const { locks, store } = await looks({ readOnly: true })
    expect(levels(locks)).toEqual(['refuse SCHED_UNSAFE_READ_ONLY'])
    expect(levels(store)).toEqual(['refuse SCHED_UNSAFE_READ_ONLY'])
  })

  it('warns of what may lose rows or locks: delayed durability, asynchronous replicas, a failover (P1, P11)', async () => {
    expect(levels((await looks({ delayedDurability: 'FORCED' })).store)).toEqual(['warn SCHED_UNSAFE_ENGINE'])
    const { locks, store } = await looks({ availabilityMode: 'ASYNCHRONOUS_COMMIT' })
    expect(levels(store)).toEqual(['warn SCHED_UNSAFE_ENGINE'])
    expect(levels(locks)).toEqual(['warn SCHED_CAPABILITY_MISSING'])
    expect(levels((await looks({ availabilityMode: 'SYNCHRONOUS_COMMIT' })).store)).toEqual([])
  })

  it('says what to grant to a login that cannot see the locks, and claims no inspection then', async () => {
    const { dialect, locks } = await looks({}, 'limited')
    expect(levels(locks)).toEqual(['warn SCHED_CAPABILITY_MISSING'])
    expect(locks.findings[0]?.remedy).toContain('GRANT VIEW SERVER STATE')
    expect(locks.capabilities.inspection).toBe(false)
    expect(dialect.locks.diagnostics).toBeUndefined()
  })

  it('tries the locks of a server that only speaks the protocol, and says what they answered (P11)', async () => {
    const { locks, store } = await looks({ kind: 'peer' })
    expect(locks).toMatchObject({ product: 'Babelfish', version: '4.4.0', capabilities: { scope: 'instance', inspection: false } })
    expect(levels(locks)).toEqual(['warn SCHED_UNSAFE_ENGINE', 'warn SCHED_CAPABILITY_MISSING'])
    expect(levels(store)).toEqual(['warn SCHED_UNSAFE_ENGINE'])
    const stock = (await looks({ kind: 'stock-peer' })).locks
    expect(levels(stock)).toEqual(['refuse SCHED_UNSAFE_ENGINE', 'warn SCHED_CAPABILITY_MISSING'])
    expect(stock.findings[0]).toMatchObject({ message: expect.stringContaining('answered -999 instead of -1') as string, remedy: expect.stringContaining('lock table') as string })
  })

  it('rejects where nobody answers, and leaves nothing behind when it is aborted', async () => {
    const standIn = await startStandIn()
    await expect(sqlserver({ url: standIn.url.replace(String(standIn.port), '1') }).locks.probe(openOptions())).rejects.toThrow()
    for (let delayMs = 0; delayMs < 8; delayMs += 2) await sqlserver({ url: standIn.url }).locks.probe(openOptions({ signal: AbortSignal.timeout(delayMs) })).catch(() => {})
    await expect.poll(() => standIn.sessions().length).toBe(0)
  })
})

describe('a product', () => {
  it.each<[string, string, number, string, string, string, boolean]>([
    ['Microsoft SQL Server 2019 (RTM-CU27) - 15.0.4375.4 (X64)', '15.0.4375.4', 2, 'SQL Server', '15.0.4375.4', 'sql-server', false],
    ['Microsoft SQL Server 2025 (RTM) - 17.0.1000.7 (X64)', '17.0.1000.7', 3, 'SQL Server', '17.0.1000.7', 'sql-server', false],
    ['Microsoft SQL Server 2014 - 12.0.2000.8 (X64)', '12.0.2000.8', 3, 'SQL Server', '12.0.2000.8', 'sql-server', true],
    ['Microsoft SQL Azure (RTM) - 12.0.2000.8', '12.0.2000.8', 5, 'Azure SQL Database', '12.0.2000.8', 'azure', false],
    ['Microsoft SQL Azure (RTM) - 12.0.2000.8', '12.0.2000.8', 8, 'Azure SQL Managed Instance', '12.0.2000.8', 'azure', false],
    ['Microsoft Azure SQL Data Warehouse - 10.0.8003.0', '10.0.8003.0', 6, 'Azure Synapse (dedicated pool)', '10.0.8003.0', 'azure', true],
    ['Babelfish for PostgreSQL with SQL Server Compatibility - 12.0.2000.8\nPostgreSQL 16.4 (Babelfish 4.4.0)', '12.0.2000.8', 0, 'Babelfish', '4.4.0', 'peer', false],
    ['SomethingElse 1.0', '', 0, 'SomethingElse 1.0', '(version unknown)', 'peer', false],
  ])('is named by what it says of itself: %s', (banner, productVersion, engineEdition, product, version, kind, refused) => {
    const engine = engineOf({ banner, productVersion, engineEdition })
    expect(engine).toMatchObject({ product, version, kind })
    expect(engine.refusal !== undefined).toBe(refused)
    if (refused) expect(engine.refusal).toMatchObject({ level: 'refuse', remedy: expect.stringMatching(/\.$/) as string })
  })
})
