import type { SessionOptions, SessionPurpose, SqlSession, StoreDialect } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { classifyMysql } from '../errors/classify.ts'
import { probeStore } from '../probe/probe-store.ts'
import { lentSession } from '../session/lent-session.ts'
import { openSession } from '../session/open-session.ts'
import { idleLimitOfPulse, idleLimitOfStore, ledgerSettings, lentSettings, type IdleLimits } from '../session/session-limits.ts'
import { sqlSession } from '../session/sql-session.ts'
import { fragments } from './fragments.ts'

export function mysqlStore<TClient>(connector: Connector): StoreDialect<TClient> {
  return {
    sql: fragments,
    probe: (options) => probeStore(connector, options),
    open: (purpose, options) => (options.sharedSessions ? openShared(connector, purpose, options) : openOwn(connector, purpose, options)),
    classify: classifyMysql,
  }
}

async function openOwn<TClient>(connector: Connector, purpose: SessionPurpose, options: SessionOptions): Promise<SqlSession<TClient>> {
  if (purpose === 'transaction') {
    const { session, server } = await openSession(connector, options.signal, false, () => lentSettings(options.label, options.leaseMs))
    return lentSession(session, server.sessionId)
  }
  let idle: IdleLimits | undefined
  const { session, server } = await openSession(connector, options.signal, true, (found) => {
    idle = purpose === 'pulse' ? idleLimitOfPulse(options.leaseMs) : idleLimitOfStore(found, options.leaseMs)
    return [...ledgerSettings(found, options), ...idle.settings]
  })
  return sqlSession(session, { id: server.sessionId, around: idle?.around })
}

/**
 * Behind a proxy that shares sessions nothing may be set: there is no setting that ends with a transaction. So the server's own
 * isolation and limits hold there, and the core's deadlines.
 */
async function openShared<TClient>(connector: Connector, purpose: SessionPurpose, { signal }: SessionOptions): Promise<SqlSession<TClient>> {
  const session = await connector.connect(signal)
  return purpose === 'transaction' ? lentSession(session, undefined) : sqlSession(session, { id: undefined })
}
