import type { OpenOptions, Probe } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { commonFindings, storeFindings } from './fact-findings.ts'
import { lookAt, product, scopeOf } from './look.ts'
import { readFacts } from './server-facts.ts'

/** Whether the ledger can live here. */
export async function probeStore(connector: Connector, options: OpenOptions): Promise<Probe> {
  const facts = await lookAt(connector, options, readFacts)
  return {
    product, version: facts.version, scope: scopeOf(facts), sharedSessions: false, poolLimit: connector.limit,
    findings: [...commonFindings(facts, connector.limit), ...storeFindings(facts)],
  }
}
