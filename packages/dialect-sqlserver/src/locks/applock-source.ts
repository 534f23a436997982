import type { LockDiagnostics, LockSource } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { classifySqlServer } from '../errors/classify.ts'
import { probeLocks } from '../probe/probe-locks.ts'
import { openApplockConnection, type ApplockConnection } from './applock-connection.ts'
import { applockDiagnostics } from './applock-diagnostics.ts'
import { applockStrategy } from './applock-strategy.ts'
import { capabilitiesWith } from './capabilities.ts'

export function applockSource(connector: Connector): LockSource<ApplockConnection> {
  const source: LockSource<ApplockConnection> & { diagnostics?: LockDiagnostics<ApplockConnection> } = {
    lockType: 'sqlserver:applock',
    capabilities: capabilitiesWith({ inspection: true, scope: 'database' }),
    strategy: applockStrategy,
    diagnostics: applockDiagnostics,
    async probe(options) {
      const found = await probeLocks(connector, options)
      // Where this account or this server cannot list the locks, nobody can be asked what is left of them.
      if (found.capabilities.inspection) source.diagnostics = applockDiagnostics
      else delete source.diagnostics
      return found
    },
    open: (_purpose, options) => openApplockConnection(connector, options),
    classify: classifySqlServer,
  }
  return source
}
