import { poolFindings } from '../session/pool-finding.ts'
import { safetyMarginMs } from '../session/safety-margin.ts'
import type { Finding } from '../spi/probe.ts'
import type { TaskDefinition } from './task-definition.ts'

/** What is known of an instance before it starts. */
export interface NodeNumbers {
  readonly concurrency: number
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** How far the clocks of the servers may disagree. */
  readonly clockUncertaintyMs: number
  /** The most connections that the caller's pool lends. */
  readonly poolLimit: number | undefined
}

/** The numbers of a set-up against each other, with the arithmetic shown. */
export function checkNumbers(definitions: readonly TaskDefinition[], node: NodeNumbers, nowMs: number): Finding[] {
  return [
    ...leaseFindings(node),
    ...poolFindings(node.poolLimit, [{ count: 2, what: 'heartbeat and store' }, { count: node.concurrency, what: 'concurrency, one per open ctx.transaction' }]),
    ...workerFindings(definitions, node.concurrency, nowMs),
  ]
}

/** The options alone were checked with a margin for one clock; only the probe knows how many there are. */
function leaseFindings({ leaseMs, heartbeatMs, clockUncertaintyMs }: NodeNumbers): Finding[] {
  const marginMs = safetyMarginMs(leaseMs, clockUncertaintyMs)
  if (leaseMs - marginMs >= 2 * heartbeatMs) return []
  return [{
    level: 'warn', code: 'SCHED_UNSAFE_LIMIT',
    message: `leaseMs ${leaseMs} less the safety margin ${marginMs} (${clockUncertaintyMs} of it because the clocks of the servers may disagree) is ${leaseMs - marginMs}, below two heartbeats of ${heartbeatMs}: one late heartbeat costs everything that runs here.`,
    remedy: `Take heartbeatMs ${Math.max(0, Math.floor((leaseMs - marginMs) / 2))} or less, or a longer lease.`,
  }]
}

/** A gated task holds one worker at most; one with overlap `allow` as many as fit into its timeout. */
function workerFindings(definitions: readonly TaskDefinition[], concurrency: number, nowMs: number): Finding[] {
  const needs = definitions.flatMap((definition) => {
    const periodMs = definition.schedule.period(nowMs)
    if (periodMs === null) return []
    const share = definition.timeoutMs / periodMs
    return [{ definition, periodMs, workers: definition.overlap === 'allow' ? share : Math.min(1, share) }]
  })
  const total = needs.reduce((sum, { workers }) => sum + workers, 0)
  if (total <= concurrency) return []
  const shown = needs.toSorted((a, b) => b.workers - a.workers).slice(0, 5)
    .map(({ definition, periodMs, workers }) => `${definition.name} ${workers.toFixed(2)} (timeoutMs ${definition.timeoutMs} / period ${periodMs}${definition.overlap === 'allow' ? '' : ', at most 1'})`)
  return [{
    level: 'warn', code: 'SCHED_WORKERS_BUSY',
    message: `if every run took its whole timeout, the tasks would need ${total.toFixed(1)} workers, and this instance has ${concurrency}: ${shown.join(' + ')}${needs.length > shown.length ? ` + ${needs.length - shown.length} more` : ''}.`,
    remedy: 'Shorten timeoutMs to what runs really take, raise concurrency, or rely on other instances; until then busy instances start late.',
  }]
}
