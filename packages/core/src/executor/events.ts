import { asError, type ErrorCode, type SchedError } from '../errors.ts'
import type { AttemptReason, Origin } from '../ledger/execution-row.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Finding } from '../spi/probe.ts'
import type { EventLoopLag } from '../telemetry/event-loop-lag.ts'
import { isOnlooker } from '../telemetry/onlooker.ts'

/** An execution, as events name it. */
export interface ExecutionRef {
  readonly task: string
  readonly executionId: string
  /** Epoch milliseconds. */
  readonly fireTime: number
}

export interface AttemptRef extends ExecutionRef { readonly attempt: number; readonly owner: string; readonly fencingToken: number }

/** What this node knows at a heartbeat that succeeded. */
export interface HeartbeatFacts {
  readonly nodeId: string
  readonly dbNow: number
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** How far the database's clock is ahead of this host's. */
  readonly clockOffsetMs: number
  readonly uncertaintyMs: number
  /** Since when the oldest execution of the namespace that is due has been waiting for its start, on whatever node. 0: none is. What waits in a paused or stalled task counts only when it is by hand. */
  readonly overdueMs: number
  /** Live instances whose time zone data is of another version than this one's. */
  readonly otherZoneData: number
  /** The local pool: attempts in hand, claims that wait for one of them to end, and how many there may be. */
  readonly workers: { readonly busy: number; readonly waiting: number; readonly limit: number }
  /** Since the heartbeat before; zeros on a clock that is not the system's. */
  readonly loopLag: EventLoopLag
}

/** Every event and what it carries. Instants are epoch milliseconds by the database's clock. */
export interface SchedulerEvents {
  /** Something failed that is not an attempt's own failure. The scheduler goes on. */
  error: { readonly error: Error; readonly where: string }
  /** A safe but remarkable set-up, once per finding; other time zone data on other instances once each time it begins. Unheard it becomes a process warning. */
  warning: { readonly finding: Finding }
  /** `tasks`: the names of all that are registered here. */
  started: { readonly nodeId: string; readonly namespace: string; readonly plan: readonly string[]; readonly tasks: readonly string[] }
  stopped: { readonly unsettled: number }
  /** This node's lease is over: every attempt it runs is aborted, and it goes on under another id. */
  'node.lost': { readonly nodeId: string; readonly reason: SchedError }
  'node.registered': { readonly nodeId: string }
  heartbeat: HeartbeatFacts
  /** A heartbeat did not reach the database or was not answered in time; it is tried again. Also an `error`. */
  'heartbeat.failed': { readonly nodeId: string; readonly error: Error }
  /** The event loop did not turn for at least a lease: a handler held it, or the process was frozen. What ran here may have been taken over. */
  'loop.blocked': { readonly nodeId: string; readonly blockedMs: number; readonly leaseMs: number }
  /** The stored definition of a task is another one, of a higher revision or, without revisions, of a later boot: this node does not claim it. */
  'definition.superseded': { readonly task: string }
  'slot.skipped': ExecutionRef & { readonly reason: string }
  /** This node was full and stood aside; an idle one may run the slot, else it is caught up. */
  'slot.left': { readonly task: string; readonly fireTime: number; readonly error: SchedError }
  /** What one scan has settled: `count` fire times are written off, `caughtUp` is the latest that runs now. A long backlog takes several scans. */
  'slot.missed': { readonly task: string; readonly count: number; readonly caughtUp: number | undefined }
  'execution.started': AttemptRef & { readonly origin: Origin; readonly attemptReason: AttemptReason | null; readonly lateMs: number
    /** `lateMs` less the task's jitter: how long the start was waited for. */
    readonly delayMs: number
    readonly priority: number
  }
  'execution.succeeded': AttemptRef & { readonly runMs: number }
  'execution.failed': AttemptRef & { readonly error: Error; readonly runMs: number }
  'execution.retry': AttemptRef & { readonly error: Error; readonly reason: AttemptReason; readonly delayMs: number; readonly runMs: number }
  /** A late writer: the execution had moved on under another owner or token, and nothing of this attempt was written. */
  'execution.fenced': AttemptRef & { readonly reason: Error; readonly runMs: number }
  /** The attempt's end could not be written, for another reason than a database that is away. The sweep recovers it. */
  'execution.unfinished': AttemptRef & { readonly error: Error; readonly runMs: number }
  /** `errorCode`: what the ledger has of it. SCHED_TASK_CANCELLED when it had been asked to end, SCHED_TASK_POISON when it crashed as often as it may, else SCHED_LEASE_LOST. */
  'execution.recovered': ExecutionRef & { readonly state: 'retry' | 'failed'; readonly crashCount: number; readonly errorCode: ErrorCode }
  /** What waited for its first or next attempt was cancelled by this node: by hand, or by a later slot. One that runs ends as `execution.failed`. */
  'execution.cancelled': ExecutionRef & { readonly error: SchedError }
  /** Rows that a foreign open transaction holds; the server session that does must end first. */
  'recovery.blocked': { readonly what: readonly string[] }
  /** The task waits for a person: `resume`. */
  'task.stalled': { readonly task: string; readonly reason: string }
  /** A handler ignored its signal. Its row has ended, its gate stays until it settles. */
  'task.stuck': AttemptRef
  /** The handler of a stuck attempt has settled at last. */
  'task.unstuck': AttemptRef
  /**
   * An attempt asked for the right to run. `veto`: the lock beside the ledger. `gate`: the start's transaction in the ledger, for every
   * task but those with overlap `allow`. `failed`: the database could not be asked.
   */
  'lock.acquire': { readonly task: string; readonly kind: 'veto' | 'gate'; readonly outcome: 'acquired' | 'refused' | 'failed'; readonly durationMs: number }
  /** The lock of the task is held by somebody outside the ledger. */
  'lock.foreign': { readonly task: string; readonly holder: LockHolder | null }
}

/** How asking for a gate or a lock ended. */
export type AcquireOutcome = SchedulerEvents['lock.acquire']['outcome']

export type EventName = keyof SchedulerEvents
export type Listener<N extends EventName> = (event: SchedulerEvents[N]) => void

/** Typed events. A listener that throws is reported as an `error` event; errors and warnings that nobody but onlookers hears become process warnings. */
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
    if ([...listeners ?? []].every(isOnlooker)) warnUnheard(name, event)
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

/** What must not go unheard. */
function warnUnheard<N extends EventName>(name: N, event: SchedulerEvents[N]): void {
  if (name === 'error') process.emitWarning((event as SchedulerEvents['error']).error)
  if (name !== 'warning') return
  const { code, message, remedy } = (event as SchedulerEvents['warning']).finding
  process.emitWarning(`${message} ${remedy}`, { type: 'SchedWarning', code })
}
