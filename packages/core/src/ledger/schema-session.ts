import { StoreSession } from '../session/store-session.ts'
import type { OpenOptions } from '../spi/lock-source.ts'
import type { SqlSession } from '../spi/sql-session.ts'
import type { StoreDialect } from '../spi/store-dialect.ts'
import type { Clock } from '../time/clock.ts'

const ddlMs = 30_000
const rowLockMs = 10_000

/** A session whose limits are made for DDL. */
export function schemaSession(
  store: StoreDialect, options: Omit<OpenOptions, 'signal'> & { clock: Clock; random: () => number; url: string | undefined; sharedSessions: boolean },
): StoreSession {
  const { clock, random, url, ...open } = options
  return new StoreSession<SqlSession>({
    clock, random, url, label: 'schema', classify: (error) => store.classify(error), callMs: ddlMs, openMs: ddlMs, sharedSessions: open.sharedSessions, sql: (raw) => raw,
    open: (signal) => store.open('store', { ...open, signal, statementMs: ddlMs, rowLockMs }),
  })
}
