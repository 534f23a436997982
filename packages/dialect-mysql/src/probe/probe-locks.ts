import type { LockProbe, OpenOptions } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { capabilities } from '../locks/capabilities.ts'
import { lockFindings } from './fact-findings.ts'
import { lookAt } from './look.ts'

/** Whether user-level locks are safe through this connection. Names are the server's; the database tells its tenants apart. */
export async function probeLocks(connector: Connector, options: OpenOptions): Promise<LockProbe> {
  const { engine: { product, version }, facts, findings } = await lookAt(connector, 'locks', options)
  return {
    product, version, capabilities, poolLimit: connector.limit,
    scope: facts?.database ?? '',
    sharedSessions: facts?.proxied ?? false,
    findings: [...findings, ...(facts === undefined ? [] : lockFindings(facts))],
  }
}
