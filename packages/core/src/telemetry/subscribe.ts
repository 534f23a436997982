import type { EventName, Listener, SchedulerEvents } from '../executor/events.ts'
import { onlooker } from './onlooker.ts'

/** The part of a scheduler that telemetry needs. */
export interface EventSource {
  /** Listens; the result stops listening. */
  on<N extends EventName>(name: N, listener: Listener<N>): () => void
}

export type Listeners = { readonly [N in EventName]?: (event: SchedulerEvents[N]) => void }

/** Adds onlookers to a scheduler's events; the result removes them all. */
export function subscribe(source: EventSource, listeners: Listeners): () => void {
  const names = Object.keys(listeners) as EventName[]
  const removals = names.map((name) => source.on(name, onlooker(listeners[name] as Listener<typeof name>)))
  return () => { for (const remove of removals) remove() }
}
