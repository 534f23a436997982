import type { OpenOptions, Probe } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { storeFindings } from './fact-findings.ts'
import { lookAt, scopeOf } from './look.ts'

/** Whether the ledger can live here. A transaction pooler is no fault: its settings then travel with each transaction. */
export async function probeStore(connector: Connector, options: OpenOptions): Promise<Probe> {
  const { engine: { product, version }, facts, sharedSessions, findings } = await lookAt(connector, 'store', options)
  return { product, version, sharedSessions, poolLimit: connector.limit, scope: scopeOf(facts), findings: [...findings, ...(facts === undefined ? [] : storeFindings(facts))] }
}
