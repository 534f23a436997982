import { lockTableStatement, tableNames, type Dialect, type OpenOptions, type SqlSession, type Tables } from '@sched/core/spi'

/** The tables of a run, under a prefix of its own. Absent without a store. */
export function runTables(dialect: Dialect, prefix: string): Tables | undefined {
  return dialect.store === undefined ? undefined : tableNames(dialect.store.sql, { prefix })
}

/** Creates the lock table of the run. */
export async function createLockTable(dialect: Dialect, tables: Tables, options: StoreOpenOptions): Promise<void> {
  await onStore(dialect, options, async (session) => { await runDdl(session, lockTableStatement(dialect.store!.sql, tables)) })
}

/** Drops whatever of the run's tables there is. */
export async function dropTables(dialect: Dialect, tables: Tables, options: StoreOpenOptions): Promise<void> {
  const { store } = dialect
  await onStore(dialect, options, async (session) => {
    for (const table of [tables.locks, tables.meta]) {
      try { await runDdl(session, `DROP TABLE ${table}`) } catch (error) {
        if (store?.classify(error) !== 'missing-table') throw error
      }
    }
  })
}

export type StoreOpenOptions = OpenOptions & { readonly sharedSessions: boolean }

async function onStore(dialect: Dialect, options: StoreOpenOptions, work: (session: SqlSession) => Promise<void>): Promise<void> {
  const session = await dialect.store?.open('store', { ...options, statementMs: 10_000, rowLockMs: 5_000 })
  if (session === undefined) return
  try { await work(session) } finally { session.destroy() }
}

async function runDdl(session: SqlSession, text: string): Promise<void> {
  await session.begin()
  try { await session.run({ text, params: [] }) } catch (error) { await session.rollback(); throw error }
  await session.commit()
}
