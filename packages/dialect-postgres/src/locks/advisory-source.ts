import type { LockSource } from '@sched/core/spi'
import { classifyPostgres } from '../errors/classify.ts'
import type { Connector } from '../connect/connector.ts'
import { probeLocks } from '../probe/probe-locks.ts'
import { openAdvisoryConnection, type AdvisoryConnection } from './advisory-connection.ts'
import { advisoryDiagnostics } from './advisory-diagnostics.ts'
import { advisoryStrategy } from './advisory-strategy.ts'
import { capabilitiesWith } from './capabilities.ts'

export function advisorySource(connector: Connector): LockSource<AdvisoryConnection> {
  return {
    lockType: 'postgres:advisory',
    capabilities: capabilitiesWith({ idleSessionTimeout: true, lockSlots: 64 * 100 }), // the defaults of version 14 and later
    strategy: advisoryStrategy,
    diagnostics: advisoryDiagnostics,
    probe: (options) => probeLocks(connector, options),
    open: (purpose, options) => openAdvisoryConnection(connector, purpose, options),
    classify: classifyPostgres,
  }
}
