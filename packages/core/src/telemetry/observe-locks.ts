import { register } from 'prom-client'
import { isSchedError } from '../errors.ts'
import type { LockEventListener } from '../locks/lock-events.ts'
import type { Lease, Locks } from '../locks/locks.ts'
import { systemClock } from '../time/clock.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import { lockMetrics } from './metric-definitions.ts'
import { claimSeries, metricSet } from './metric-set.ts'
import type { ObserveOptions } from './observe-scheduler.ts'

export interface LockObserver {
  /** For the option `onEvent` of `createLocks`: counts what is lost or fails. Hands every event on to `next`, where there is one. */
  readonly onEvent: LockEventListener
  /** The same locks, with the time measured that each acquire takes. Several may share an observer. */
  measured(locks: Locks): Locks
  /** Stops observing; what was counted stays in the registry. */
  stop(): void
}

type Outcome = 'acquired' | 'refused' | 'timeout' | 'failed'

/**
 * Shows locks as Prometheus metrics. `next` gets the events afterwards; without it warnings go to the process, as they do where nobody
 * listens.
 *
 *     const observer = observeLocks({ registry })
 *     const locks = observer.measured(createLocks({ dialect, onEvent: observer.onEvent }))
 *
 * @throws SchedError SCHED_OPTION_INVALID when the registry has metrics of the same names, or an observer with the same labels
 */
export function observeLocks(options: ObserveOptions & { next?: LockEventListener } = {}): LockObserver {
  const { registry = register, labels = {}, next = warn } = options
  const metrics = metricSet(lockMetrics, registry, labels)
  const free = claimSeries('locks', registry, labels)
  const open = new Set<Locks>()
  const stopSampling = metrics.lock_held.sample(() => [...open].reduce((held, locks) => held + locks.list().length, 0))
  let stopped = false
  const counters = {
    'lock.lost': metrics.lock_lost_total, 'lock.heartbeat-failed': metrics.lock_heartbeat_failures_total,
    'lock.release-failed': metrics.lock_release_failures_total, 'lock.session-lost': metrics.lock_sessions_lost_total,
  }
  for (const counter of Object.values(counters)) counter.inc({}, 0)

  const start = (): ((outcome: Outcome) => void) => {
    const watch = startStopwatch(systemClock)
    return (outcome) => { if (!stopped) metrics.lock_acquire_duration_ms.observe({ kind: 'lock', outcome }, watch.elapsedMs()) }
  }
  const failed = (error: unknown): Outcome => (isSchedError(error, 'SCHED_LOCK_TIMEOUT') ? 'timeout' : 'failed')

  const measured = (locks: Locks): Locks => {
    open.add(locks)
    const closed = (): void => { open.delete(locks) }
    return {
      async tryAcquire(...args) {
        const tell = start()
        const outcome = await locks.tryAcquire(...args).catch((error: unknown) => { tell('failed'); throw error })
        tell(outcome.status)
        return outcome
      },
      async acquire(...args) {
        const tell = start()
        const lease = await locks.acquire(...args).catch((error: unknown) => { tell(failed(error)); throw error })
        tell('acquired')
        return lease
      },
      async with<T>(name: string, fn: (lease: Lease) => Promise<T> | T, acquireOptions?: Parameters<Locks['with']>[2]) {
        const tell = start()
        let entered = false
        const work = (lease: Lease): Promise<T> | T => { entered = true; tell('acquired'); return fn(lease) }
        return locks.with(name, work, acquireOptions).catch((error: unknown) => { if (!entered) tell(failed(error)); throw error })
      },
      inspect: (name) => locks.inspect(name),
      list: () => locks.list(),
      close: (closeOptions) => locks.close(closeOptions).finally(closed),
      [Symbol.asyncDispose]: () => locks.close().finally(closed),
    }
  }

  return {
    onEvent(event) {
      if (event.kind !== 'lock.warning' && !stopped) counters[event.kind].inc({})
      next(event)
    },
    measured,
    stop() {
      stopped = true
      stopSampling()
      free()
    },
  }
}

const warn: LockEventListener = (event) => {
  if (event.kind === 'lock.warning') process.emitWarning(`${event.finding.message} ${event.finding.remedy}`, { type: 'SchedWarning', code: event.finding.code })
}
