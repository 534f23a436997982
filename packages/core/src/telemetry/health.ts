import type { AttemptRef } from '../executor/events.ts'
import { systemClock, type Clock } from '../time/clock.ts'
import { startStopwatch, type Stopwatch } from '../time/stopwatch.ts'
import { subscribe, type EventSource } from './subscribe.ts'

/**
 * What is wrong with an instance.
 *
 * - `not-started`, `stopped`: it takes no part in the schedule.
 * - `lease-lost`: it lost its lease and has not registered again: the database does not answer.
 * - `heartbeat-late`: its last sign of life is older than the lease. Judged at the look, also after a freeze.
 * - `task-stuck`: a handler ignores its signal; its task does not run anywhere until it settles or this process ends.
 * - `recovery-blocked`: a foreign open transaction holds rows of dead instances; the server session that holds it must end.
 */
export interface HealthProblem {
  readonly kind: 'not-started' | 'stopped' | 'lease-lost' | 'heartbeat-late' | 'task-stuck' | 'recovery-blocked'
  /** A sentence for a person. */
  readonly text: string
  /** True when a restart of this process ends the problem: what a liveness probe may act on. */
  readonly restartHelps: boolean
}

export interface HealthReport {
  /** False as soon as there is a problem. */
  readonly healthy: boolean
  readonly problems: readonly HealthProblem[]
  readonly nodeId: string | undefined
  /** Milliseconds since the last heartbeat that succeeded, or since the registration. */
  readonly heartbeatAgeMs: number | undefined
  /** As of the last heartbeat; undefined before the first. */
  readonly leaseMs: number | undefined
  /** Attempts whose handler ignores its signal, oldest first. */
  readonly stuck: readonly AttemptRef[]
  /** Rows of dead instances that a foreign transaction holds, as last found. */
  readonly blockedRecovery: readonly string[]
}

export interface HealthWatch {
  /** Judged now. */
  report(): HealthReport
  /** Stops watching. */
  stop(): void
}

// A sweep follows each heartbeat while rows are blocked, but may take longer than one.
const blockedForBeats = 3

/** Watches the health of an instance by its events. To be called before the scheduler starts. */
export function watchHealth(scheduler: EventSource, options: { clock?: Clock } = {}): HealthWatch {
  const { clock = systemClock } = options
  const stuck = new Map<string, AttemptRef>()
  let life: 'new' | 'registered' | 'lost' | 'stopped' = 'new'
  let nodeId: string | undefined
  let leaseMs: number | undefined
  let lastBeat: Stopwatch | undefined
  let lostBecause = ''
  let blocked: readonly string[] = []
  let beatsSinceBlocked = 0

  const stop = subscribe(scheduler, {
    'node.registered': (event) => { life = 'registered'; nodeId = event.nodeId; lastBeat = startStopwatch(clock) },
    'node.lost': ({ reason }) => { if (life !== 'stopped') life = 'lost'; lostBecause = reason.message },
    heartbeat: (event) => {
      lastBeat = startStopwatch(clock)
      leaseMs = event.leaseMs
      beatsSinceBlocked += 1
      if (beatsSinceBlocked > blockedForBeats) blocked = []
    },
    'task.stuck': (attempt) => { stuck.set(attempt.owner, attempt) },
    'task.unstuck': ({ owner }) => { stuck.delete(owner) },
    'recovery.blocked': ({ what }) => { blocked = what; beatsSinceBlocked = 0 },
    stopped: () => { life = 'stopped' },
  })

  const problems = function* (ageMs: number | undefined): Generator<HealthProblem> {
    if (life === 'new') yield { kind: 'not-started', text: 'the scheduler has not registered with the database yet.', restartHelps: false }
    if (life === 'stopped') yield { kind: 'stopped', text: 'the scheduler has stopped.', restartHelps: false }
    if (life === 'lost') yield { kind: 'lease-lost', text: `this instance takes no part until the database answers: ${lostBecause}`, restartHelps: false }
    if (life === 'registered' && leaseMs !== undefined && ageMs !== undefined && ageMs >= leaseMs) {
      yield { kind: 'heartbeat-late', text: `the last heartbeat was ${Math.round(ageMs)} ms ago, and the lease is ${leaseMs} ms.`, restartHelps: false }
    }
    for (const { task, executionId, attempt } of stuck.values()) {
      yield { kind: 'task-stuck', text: `attempt ${attempt} of execution ${executionId} of ${JSON.stringify(task)} ignores its signal; the task runs nowhere until it settles.`, restartHelps: true }
    }
    if (blocked.length > 0) yield { kind: 'recovery-blocked', text: `an open transaction of another session holds ${blocked.join(', ')}: end that session.`, restartHelps: false }
  }

  return {
    report() {
      const heartbeatAgeMs = lastBeat?.elapsedMs()
      const found = [...problems(heartbeatAgeMs)]
      return { healthy: found.length === 0, problems: found, nodeId, heartbeatAgeMs, leaseMs, stuck: [...stuck.values()], blockedRecovery: blocked }
    },
    stop,
  }
}
