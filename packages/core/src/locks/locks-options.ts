import { checkScheme } from '../dialect/resolve.ts'
import { SchedError } from '../errors.ts'
import { safetyMarginMs } from '../session/safety-margin.ts'
import { redactUrl } from '../spi/redact.ts'
import { checkNamespace } from '../spi/lock-name.ts'
import { systemClock, type Clock } from '../time/clock.ts'
import type { LocksOptions } from './locks.ts'

/** The options with their defaults. */
export interface CheckedLocksOptions extends LocksOptions {
  leaseMs: number
  heartbeatMs: number
  maxWaiting: number
  openMs: number
  fencing: boolean
  migrate: boolean
  clock: Clock
  random: () => number
}

const invalid = (option: string, value: unknown, expected: string, remedy: string): SchedError =>
  new SchedError('SCHED_OPTION_INVALID', `${option} is ${typeof value === 'string' ? JSON.stringify(value) : String(value)}: expected ${expected}.`, { remedy, details: { option } })

const shortestLeaseMs = 1000

/** @throws SchedError SCHED_OPTION_INVALID, SCHED_NAMESPACE_INVALID, SCHED_DIALECT_UNKNOWN */
export function checkLocksOptions(options: LocksOptions): CheckedLocksOptions {
  const { dialect, url, leaseMs = 30_000, maxWaiting = 4, openMs = 10_000, fencing = false, migrate = true, clock = systemClock, random = Math.random } = options
  if ((dialect === undefined) === (url === undefined)) {
    throw new SchedError('SCHED_OPTION_INVALID', `createLocks was given ${dialect === undefined ? 'neither dialect nor url' : 'both dialect and url'}: expected exactly one.`, { remedy: 'Pass dialect: postgres({ … }), or url: "postgres://…".', details: { option: 'dialect' } })
  }
  if (url !== undefined) checkScheme(url)
  if (dialect !== undefined && (dialect.spiVersion !== 1 || dialect.locks === undefined)) {
    throw invalid('dialect', url === undefined ? typeof dialect : redactUrl(url), 'what a dialect package makes, e.g. postgres({ url })', 'Update the dialect together with @sched/core.')
  }
  if (options.namespace !== undefined) checkNamespace(options.namespace)
  if (!Number.isFinite(leaseMs) || leaseMs < shortestLeaseMs) throw invalid('leaseMs', leaseMs, `a number of milliseconds, at least ${shortestLeaseMs}`, 'A shorter lease is lost to an ordinary pause of the process; take the default of 30000 if unsure.')
  const heartbeatMs = options.heartbeatMs ?? leaseMs / 3
  if (!Number.isFinite(heartbeatMs) || heartbeatMs <= 0) throw invalid('heartbeatMs', heartbeatMs, 'a number of milliseconds above 0', 'Leave it out: a third of the lease.')
  checkHeartbeat(leaseMs, heartbeatMs, dialect?.locks.capabilities.clockUncertaintyMs ?? 0)
  if (!Number.isInteger(maxWaiting) || maxWaiting < 0) throw invalid('maxWaiting', maxWaiting, 'a whole number, at least 0', 'Each is a connection; 0 makes every waiting acquire poll.')
  if (options.maxLocks !== undefined && (!Number.isInteger(options.maxLocks) || options.maxLocks < 1)) throw invalid('maxLocks', options.maxLocks, 'a whole number, at least 1', 'Leave it out: the dialect knows what its server bears.')
  if (!Number.isFinite(openMs) || openMs <= 0) throw invalid('openMs', openMs, 'a number of milliseconds above 0', 'Leave it out: 10000.')
  return { ...options, leaseMs, heartbeatMs, maxWaiting, openMs, fencing, migrate, clock, random }
}

/** A heartbeat may fail once without costing the lease. @throws SchedError SCHED_OPTION_INVALID */
export function checkHeartbeat(leaseMs: number, heartbeatMs: number, clockUncertaintyMs: number): void {
  const marginMs = safetyMarginMs(leaseMs, clockUncertaintyMs)
  if (leaseMs - marginMs >= 2 * heartbeatMs) return
  throw new SchedError('SCHED_OPTION_INVALID', `leaseMs ${leaseMs} less the safety margin ${marginMs} is ${leaseMs - marginMs}, which is below two heartbeats of ${heartbeatMs}: one late heartbeat would cost the lock.`, {
    remedy: `Take heartbeatMs ${Math.floor((leaseMs - marginMs) / 2)} or less, or a longer lease.`, details: { option: 'heartbeatMs' },
  })
}

/** @throws SchedError SCHED_OPTION_INVALID */
export function checkWaitMs(waitMs: number): number {
  if (Number.isFinite(waitMs) && waitMs >= 0) return waitMs
  throw invalid('waitMs', waitMs, 'a number of milliseconds, at least 0', 'Every wait has an end: choose one, and call again when it passes.')
}
