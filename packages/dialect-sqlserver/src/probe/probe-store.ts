import type { OpenOptions, Probe } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { storeFindings } from './fact-findings.ts'
import { lookAt, scopeOf } from './look.ts'

/** Whether the ledger can live here. */
export async function probeStore(connector: Connector, options: OpenOptions): Promise<Probe> {
  const { engine, facts, findings } = await lookAt(connector, options)
  return {
    product: engine.product, version: engine.version, scope: scopeOf(facts), sharedSessions: false, poolLimit: connector.limit,
    findings: [...findings, ...(facts === undefined ? [] : storeFindings(engine, facts))],
  }
}
