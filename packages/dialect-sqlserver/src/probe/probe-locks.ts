import type { LockProbe, OpenOptions } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { capabilitiesWith } from '../locks/capabilities.ts'
import { applocksAreWrong } from './applock-check.ts'
import { lockFindings } from './fact-findings.ts'
import { lookAt, scopeOf } from './look.ts'

/** Whether application locks are safe through this connection, and what they can do with this server and this account. */
export async function probeLocks(connector: Connector, options: OpenOptions): Promise<LockProbe> {
  const { engine, facts, applocks, findings } = await lookAt(connector, options, applocksAreWrong)
  return {
    product: engine.product, version: engine.version, poolLimit: connector.limit,
    scope: scopeOf(facts),
    sharedSessions: false, // no pooler that lends one TDS session to several clients is known, nor do the gateways of Azure
    capabilities: capabilitiesWith({ inspection: facts?.locksVisible ?? false, scope: engine.kind === 'peer' ? 'instance' : 'database' }),
    findings: [...findings, ...(facts === undefined ? [] : lockFindings(engine, facts, applocks))],
  }
}
