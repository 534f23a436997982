import { asError, type SchedError } from '../errors.ts'
import type { AttemptReason, Origin } from '../ledger/execution-row.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Finding } from '../spi/probe.ts'

/** An execution, as events name it. */
export interface ExecutionRef {
  readonly task: string
  readonly executionId: string
  /** Epoch milliseconds. */
  readonly fireTime: number
}

export interface AttemptRef extends ExecutionRef { readonly attempt: number; readonly owner: string; readonly fencingToken: number }

/** Every event and what it carries. Instants are epoch milliseconds by the database's clock. */
export interface SchedulerEvents {
  /** Something failed that is not an attempt's own failure. The scheduler goes on. */
  error: { readonly error: Error; readonly where: string }
  /** A safe but remarkable set-up, once per finding. */
  warning: { readonly finding: Finding }
  started: { readonly nodeId: string; readonly namespace: string; readonly plan: readonly string[] }
  stopped: { readonly unsettled: number }
  /** This node's lease is over: every attempt it runs is aborted, and it goes on under another id. */
  'node.lost': { readonly nodeId: string; readonly reason: SchedError }
  'node.registered': { readonly nodeId: string }
  heartbeat: { readonly nodeId: string; readonly dbNow: number; readonly clockOffsetMs: number; readonly uncertaintyMs: number }
  /** The stored definition of a task is another one, of a higher revision: this node does not claim it. */
  'definition.superseded': { readonly task: string }
  'slot.skipped': ExecutionRef & { readonly reason: string }
  /** This node was full and stood aside; an idle one may run the slot, else it is caught up. */
  'slot.left': { readonly task: string; readonly fireTime: number; readonly error: SchedError }
  'slot.missed': { readonly task: string; readonly count: number; readonly caughtUp: number | undefined }
  'execution.started': AttemptRef & { readonly origin: Origin; readonly attemptReason: AttemptReason | null; readonly lateMs: number }
  'execution.succeeded': AttemptRef & { readonly runMs: number }
  'execution.failed': AttemptRef & { readonly error: Error }
  'execution.retry': AttemptRef & { readonly error: Error; readonly reason: AttemptReason; readonly delayMs: number }
  /** A late writer: the execution had moved on under another owner or token, and nothing of this attempt was written. */
  'execution.fenced': AttemptRef & { readonly reason: Error }
  'execution.recovered': ExecutionRef & { readonly state: 'retry' | 'failed'; readonly crashCount: number }
  /** Rows that a foreign open transaction holds; the server session that does must end first. */
  'recovery.blocked': { readonly what: readonly string[] }
  /** The task waits for a person: `resume`. */
  'task.stalled': { readonly task: string; readonly reason: string }
  /** A handler ignored its signal. Its row has ended, its gate stays until it settles. */
  'task.stuck': AttemptRef
  /** The lock of the task is held by somebody outside the ledger. */
  'lock.foreign': { readonly task: string; readonly holder: LockHolder | null }
}

export type EventName = keyof SchedulerEvents
export type Listener<N extends EventName> = (event: SchedulerEvents[N]) => void

/** Typed events. A listener that throws is reported as an `error` event; without a listener, errors become process warnings. */
export class Events {
  readonly #listeners = new Map<EventName, Set<(event: never) => void>>()

  /** Adds a listener; the result removes it. */
  on<N extends EventName>(name: N, listener: Listener<N>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners.add(listener))
    return () => { listeners.delete(listener) }
  }

  emit<N extends EventName>(name: N, event: SchedulerEvents[N]): void {
    const listeners = this.#listeners.get(name)
    if (name === 'error' && (listeners === undefined || listeners.size === 0)) process.emitWarning((event as SchedulerEvents['error']).error)
    for (const listener of listeners ?? []) {
      try {
        (listener as Listener<N>)(event)
      } catch (thrown) {
        if (name === 'error') process.emitWarning(asError(thrown))
        else this.emit('error', { error: asError(thrown), where: `a listener of ${name}` })
      }
    }
  }
}
