import type { EventName, SchedulerEvents } from '../../executor/events.ts'
import type { Scheduler } from '../../executor/scheduler.ts'

/** An event of a node's scheduler, and the world's time at which it was heard. */
export type HeardEvent = { readonly [N in EventName]: { readonly name: N; readonly event: SchedulerEvents[N]; readonly at: number } }[EventName]

// Heartbeats are left out: one per node and interval would bury the rest.
const kept: Readonly<Record<Exclude<EventName, 'heartbeat'>, true>> = {
  'error': true, 'warning': true, 'started': true, 'stopped': true,
  'node.lost': true, 'node.registered': true, 'heartbeat.failed': true, 'loop.blocked': true, 'definition.superseded': true,
  'slot.skipped': true, 'slot.left': true, 'slot.missed': true,
  'execution.started': true, 'execution.succeeded': true, 'execution.failed': true, 'execution.retry': true, 'execution.fenced': true, 'execution.unfinished': true, 'execution.recovered': true,
  'execution.cancelled': true,
  'recovery.blocked': true, 'task.stalled': true, 'task.stuck': true, 'task.unstuck': true, 'lock.foreign': true, 'lock.acquire': true,
}

/** Writes down what a scheduler says. */
export function recordEvents(scheduler: Pick<Scheduler, 'on'>, worldMs: () => number): readonly HeardEvent[] {
  const heard: HeardEvent[] = []
  for (const name of Object.keys(kept) as (keyof typeof kept)[]) scheduler.on(name, (event) => { heard.push({ name, event, at: worldMs() } as HeardEvent) })
  return heard
}
