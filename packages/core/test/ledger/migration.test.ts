import { spawnNode } from '@sched-dev/databases'
import { expect, it, onTestFinished } from 'vitest'
import { isSchedError, type ErrorCode } from '../../src/errors.ts'
import { migrate, printSchema, requireSchema } from '../../src/ledger/migrate.ts'
import { schemaVersion } from '../../src/ledger/schema.ts'
import { tableNames } from '../../src/ledger/tables.ts'
import { describeEmptyStores, StoreGround, type EmptyStore } from './store-ground.ts'

const withCode = (code: ErrorCode, ...texts: string[]): unknown => expect.toSatisfy((error: unknown) => isSchedError(error, code) && texts.every((text) => error.message.includes(text)))

describeEmptyStores('migration', (open: () => Promise<EmptyStore>) => {
  async function ground(): Promise<StoreGround<EmptyStore>> {
    const opened = new StoreGround(await open())
    onTestFinished(() => opened.end())
    return opened
  }

  async function meta(on: StoreGround): Promise<Record<string, unknown>> {
    const { rows } = await on.session('onlooker').run('reading meta', { text: `SELECT meta_key, meta_value FROM ${on.tables.meta} WHERE namespace = '*' AND meta_key <> 'migration'`, params: [] })
    return Object.fromEntries(rows.map((row) => [row['meta_key'] as string, row['meta_value']]))
  }

  it('P1: ten processes that migrate one empty database at the same moment all succeed', async () => {
    const on = await ground()
    const children = Array.from({ length: 10 }, () => spawnNode(new URL('./processes/migrator.ts', import.meta.url), [on.store.product, on.store.address]))
    await Promise.all(children.map((child) => child.line(({ kind }) => kind === 'ready', 60_000)))
    for (const child of children) child.send('go')
    // All within the time of two migration leases: nobody waits for the lease of one that has finished.
    await Promise.all(children.map((child) => child.line(({ kind }) => kind === 'migrated', 60_000)))
    expect(await Promise.all(children.map((child) => child.exited))).toEqual(children.map(() => ({ code: 0, signal: null })))
    expect(await meta(on)).toEqual({ schema_version: String(schemaVersion), min_reader: '1' })
    await requireSchema(on.migration())
  }, 120_000)

  it('P10: without the right to migrate, the error shows the DDL that is missing, and that DDL is enough', async () => {
    const on = await ground()
    const context = on.migration()
    const ddl = printSchema(context.sql, context.tables, {})
    await expect(requireSchema(context)).rejects.toEqual(withCode('SCHED_SCHEMA_MISSING', ddl))
    for (const statement of ddl.split(';\n').filter((text) => text !== '')) await context.session.run('by hand', { text: statement, params: [] })
    await requireSchema(context)
    await migrate(context) // nothing left to do
    expect(await meta(on)).toEqual({ schema_version: String(schemaVersion), min_reader: '1' })
  })

  it('P10: a schema that is too new for this code is refused, whether it may migrate or not', async () => {
    const on = await ground()
    await migrate(on.migration())
    await on.session('newer').run('a newer version', { text: `UPDATE ${on.tables.meta} SET meta_value = '99' WHERE meta_key = 'min_reader'`, params: [] })
    await expect(migrate(on.migration())).rejects.toEqual(withCode('SCHED_SCHEMA_TOO_NEW', '99'))
    await expect(requireSchema(on.migration())).rejects.toEqual(withCode('SCHED_SCHEMA_TOO_NEW', '99'))
  })

  it('P10: a newer schema that this code may still use is used', async () => {
    const on = await ground()
    await migrate(on.migration())
    await on.session('newer').run('a newer version', { text: `UPDATE ${on.tables.meta} SET meta_value = '99' WHERE meta_key = 'schema_version'`, params: [] })
    await migrate(on.migration())
    await requireSchema(on.migration())
    expect(await meta(on)).toMatchObject({ schema_version: '99' })
  })

  it('P6: a migration whose process died half way is taken over when its lease is over', async () => {
    const on = await ground()
    const context = on.migration()
    await context.session.run('half a schema', { text: printSchema(context.sql, context.tables, {}).split(';\n')[0] as string, params: [] })
    await context.session.run('a lapsed lease', { text: `INSERT INTO ${on.tables.meta} (namespace, meta_key, meta_value) VALUES ('*', 'migration', 'dead-owner 1')`, params: [] })
    await migrate(context)
    await requireSchema(context)
  })

  it('P1: two sets of tables with different prefixes do not meet', async () => {
    const on = await ground()
    const tableOptions = { prefix: 'other_' }
    await migrate(on.migration())
    await migrate({ ...on.migration(), tables: tableNames(on.storeDialect.sql, tableOptions), tableOptions })
    await requireSchema({ ...on.migration(), tables: tableNames(on.storeDialect.sql, tableOptions), tableOptions })
  })
})
