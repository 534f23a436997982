import type { SessionOptions, SessionPurpose, SqlSession, StoreDialect } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { OracleConnection } from '../connect/oracle-client.ts'
import { classifyOracle } from '../errors/classify.ts'
import { probeStore } from '../probe/probe-store.ts'
import { openSession } from '../session/open-session.ts'
import { rowLockWait } from '../session/row-lock-limit.ts'
import { ledgerSettings, lentSettings } from '../session/session-settings.ts'
import { sqlSession } from '../session/sql-session.ts'
import { fragments } from './fragments.ts'

export function oracleStore<TClient extends OracleConnection>(connector: Connector<TClient>): StoreDialect<TClient> {
  return {
    sql: fragments,
    probe: (options) => probeStore(connector, options),
    open: (purpose, options) => (purpose === 'transaction' ? openLent(connector, options) : openOwn(connector, purpose, options)),
    classify: classifyOracle,
  }
}

async function openOwn<TClient extends OracleConnection>(connector: Connector<TClient>, _purpose: SessionPurpose, options: SessionOptions): Promise<SqlSession<TClient>> {
  const { signal, label, rowLockMs, statementMs } = options
  const { session, id } = await openSession(connector, signal, ledgerSettings(label, rowLockMs), statementMs)
  return sqlSession(session, { id, rowLock: rowLockWait(options) })
}

/**
 * Lent to user code: no limit of ours. Oracle ends no idle transaction by itself (MAX_IDLE_BLOCKER_TIME of the instance, 19c and later,
 * is the administrator's), so a process frozen inside one keeps its rows: the sweep skips them and says which session to end.
 */
async function openLent<TClient extends OracleConnection>(connector: Connector<TClient>, { signal, label }: SessionOptions): Promise<SqlSession<TClient>> {
  const { session, id } = await openSession(connector, signal, lentSettings(label), undefined)
  return sqlSession(session, { id, rowLock: undefined })
}
