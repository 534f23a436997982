import type { Finding, LockProbe, OpenOptions } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { poolerRemedy } from '../locks/advisory-connection.ts'
import { capabilitiesWith } from '../locks/capabilities.ts'
import { lockFindings } from './fact-findings.ts'
import { lookAt, scopeOf } from './look.ts'

/** Whether advisory locks are safe through this connection, and what they can do on this version. */
export async function probeLocks(connector: Connector, options: OpenOptions): Promise<LockProbe> {
  const { engine: { product, version }, facts, sharedSessions, findings } = await lookAt(connector, 'locks', options)
  return {
    product, version, sharedSessions, poolLimit: connector.limit,
    scope: scopeOf(facts),
    capabilities: capabilitiesWith({ idleSessionTimeout: facts !== undefined && facts.idleSessionTimeout !== null, lockSlots: facts?.lockSlots ?? 0 }),
    findings: [...findings, ...(sharedSessions ? [pooler] : []), ...(facts === undefined ? [] : lockFindings(facts))],
  }
}

const pooler: Finding = {
  level: 'refuse', code: 'SCHED_UNSAFE_POOLER',
  message: 'a transaction pooler is in between: one client\'s statements run on sessions of others, so a lock is granted to several and released by anybody.',
  remedy: poolerRemedy,
}
