import type { Finding } from '../spi/probe.ts'
import type { TaskDefinition } from './task-definition.ts'

/**
 * The numbers of a set-up against each other, with the arithmetic shown. A gated task holds one worker at most; one with overlap `allow`
 * as many as fit into its timeout.
 */
export function checkNumbers(definitions: readonly TaskDefinition[], concurrency: number, nowMs: number): Finding[] {
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
