import type { SessionOptions, SessionPurpose, SqlSession, StoreDialect } from '@sched/core/spi'
import { classifyPostgres } from '../errors/classify.ts'
import type { Connector } from '../connect/connector.ts'
import { fragments } from './fragments.ts'
import { openSession } from '../session/open-session.ts'
import type { PgClient } from '../connect/pg-client.ts'
import { probeStore } from '../probe/probe-store.ts'
import { ledgerSettings, lentSettings } from '../session/session-limits.ts'
import { sessionSettings, transactionSettings, type Setting } from '../session/session-settings.ts'
import { slotInsert } from './slot-insert.ts'
import { sqlSession } from '../session/sql-session.ts'

export function postgresStore<TClient extends PgClient>(connector: Connector<TClient>): StoreDialect<TClient> {
  return {
    sql: fragments,
    overrides: { slot: slotInsert },
    probe: (options) => probeStore(connector, options),
    open: (purpose, options) => (options.sharedSessions ? openShared(connector, purpose, options) : openOwn(connector, purpose, options)),
    classify: classifyPostgres,
  }
}

async function openOwn<TClient extends PgClient>(connector: Connector<TClient>, purpose: SessionPurpose, options: SessionOptions): Promise<SqlSession<TClient>> {
  const { session, id } = await openSession(connector, options.signal, sessionSettings(settingsFor(purpose, options)))
  return sqlSession(session, { id, begin: 'BEGIN' })
}

/** Behind a transaction pooler: nothing stays on the session, every transaction brings its settings. */
async function openShared<TClient extends PgClient>(connector: Connector<TClient>, purpose: SessionPurpose, options: SessionOptions): Promise<SqlSession<TClient>> {
  const session = await connector.connect(options.signal)
  // default_transaction_isolation would come too late for the transaction that sets it.
  const begin = purpose === 'transaction' ? 'BEGIN' : 'BEGIN ISOLATION LEVEL READ COMMITTED'
  const settings = settingsFor(purpose, options).filter(({ name }) => name !== 'default_transaction_isolation')
  return sqlSession(session, { id: undefined, begin: `${begin}; ${transactionSettings(settings)}` })
}

function settingsFor(purpose: SessionPurpose, options: SessionOptions): readonly Setting[] {
  return purpose === 'transaction' ? lentSettings(options) : ledgerSettings(options)
}
