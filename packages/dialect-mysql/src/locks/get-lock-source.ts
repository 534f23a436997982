import type { LockSource } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { classifyMysql } from '../errors/classify.ts'
import { probeLocks } from '../probe/probe-locks.ts'
import { capabilities } from './capabilities.ts'
import { openGetLockConnection, type GetLockConnection } from './get-lock-connection.ts'
import { getLockDiagnostics } from './get-lock-diagnostics.ts'
import { getLockStrategy } from './get-lock-strategy.ts'

export function getLockSource(connector: Connector): LockSource<GetLockConnection> {
  return {
    lockType: 'mysql:get_lock',
    capabilities,
    strategy: getLockStrategy,
    diagnostics: getLockDiagnostics,
    probe: (options) => probeLocks(connector, options),
    open: (purpose, options) => openGetLockConnection(connector, purpose, options),
    classify: classifyMysql,
  }
}
