import type { StoreDialect } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { classifySqlServer } from '../errors/classify.ts'
import { probeStore } from '../probe/probe-store.ts'
import { openSession } from '../session/open-session.ts'
import { ledgerSettings, lentSettings } from '../session/session-settings.ts'
import { sqlSession } from '../session/sql-session.ts'
import { fragments } from './fragments.ts'
import { slotInsert } from './slot-insert.ts'

export function sqlServerStore<TClient>(connector: Connector<TClient>): StoreDialect<TClient> {
  return {
    sql: fragments,
    overrides: { slot: slotInsert },
    probe: (options) => probeStore(connector, options),
    async open(purpose, options) {
      const lent = purpose === 'transaction'
      const opened = await openSession(connector, options, lent ? lentSettings : ledgerSettings(options))
      return sqlSession(opened, { statementMs: options.statementMs, isolation: lent ? 'as-configured' : 'read-committed' })
    },
    classify: classifySqlServer,
  }
}
