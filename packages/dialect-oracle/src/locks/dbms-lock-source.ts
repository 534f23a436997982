import type { LockSource } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { classifyOracle } from '../errors/classify.ts'
import { probeLocks } from '../probe/probe-locks.ts'
import { capabilitiesWith } from './capabilities.ts'
import { openDbmsLockConnection, type DbmsLockConnection, type LockServer } from './dbms-lock-connection.ts'
import { dbmsLockDiagnostics } from './dbms-lock-diagnostics.ts'
import { dbmsLockStrategy } from './dbms-lock-strategy.ts'

export function dbmsLockSource(connector: Connector): LockSource<DbmsLockConnection> {
  const server: LockServer = { autonomous: undefined }
  return {
    lockType: 'oracle:dbms_lock',
    capabilities: capabilitiesWith({ inspection: true, cluster: false }),
    strategy: dbmsLockStrategy,
    diagnostics: dbmsLockDiagnostics,
    probe: (options) => probeLocks(connector, options),
    open: (_purpose, options) => openDbmsLockConnection(connector, server, options),
    classify: classifyOracle,
  }
}
