import type { OpenOptions, Probe } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import { storeFindings } from './fact-findings.ts'
import { lookAt } from './look.ts'

/** Whether the ledger can live here. */
export async function probeStore(connector: Connector, options: OpenOptions): Promise<Probe> {
  const { engine: { product, version }, facts, findings } = await lookAt(connector, 'store', options)
  return {
    product, version, poolLimit: connector.limit,
    scope: facts?.database ?? '',
    sharedSessions: facts?.proxied ?? false,
    findings: [...findings, ...(facts === undefined ? [] : storeFindings(facts))],
  }
}
