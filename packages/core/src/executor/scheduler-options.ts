import { SchedError } from '../errors.ts'
import type { TableOptions } from '../ledger/tables.ts'
import type { DstRule } from '../schedule/zone/dst-rule.ts'
import { safetyMarginMs } from '../session/safety-margin.ts'
import type { Dialect } from '../spi/dialect.ts'
import { checkNamespace } from '../spi/lock-name.ts'
import type { LockSource } from '../spi/lock-source.ts'
import { systemClock, type Clock } from '../time/clock.ts'
import { refuseObjects } from '../worker-pulse/refuse-objects.ts'
import { threadClock } from '../worker-pulse/thread-clock.ts'
import type { FullPolicy } from './workers.ts'

export interface SchedulerOptions<TClient = unknown> {
  /** The database of the ledger. Exactly one of `dialect` and `url`. */
  dialect?: Dialect<TClient>
  /** Finds the dialect by its scheme: `postgres://…`, `sqlite:./sched.db`. */
  url?: string
  /** Where the veto locks come from. Default: the dialect's own. */
  locks?: LockSource
  /** `[a-z0-9_-]{1,32}`: schedulers of one namespace share a schedule. Default: made from database, schema and table prefix. */
  namespace?: string
  /** The build's number: in a rolling deploy the higher one rules. Default 0: the later boot rules. */
  revision?: number
  /** Default zone of the tasks. Default `UTC`. */
  timeZone?: string
  /** Default daylight-saving rule of the tasks. */
  dst?: DstRule
  /**
   * A dead instance is replaced within `leaseMs` + `heartbeatMs` of its last renewal. Default 30,000, at least 1,000. A failover of the database that takes longer
   * than the lease less its margin and a heartbeat costs every instance what it runs.
   */
  leaseMs?: number
  /** Default 10,000; a lease must hold two of them. */
  heartbeatMs?: number
  /** Attempts at once on this instance. Default 10. */
  concurrency?: number
  /** What happens when they are all busy. Default `caller-runs`: claims wait, nothing is lost. */
  full?: FullPolicy
  /** The longest local queue of the other policies. Default 100. */
  maxQueued?: number
  /** Ended executions are deleted after this long, in batches; never younger than a slot may still be claimed, plus 1 h. Default 7 days; `Infinity` keeps them. */
  retentionMs?: number
  /**
   * The lock beside the ledger. `auto` (default): where a dead holder's lock ends within the lease; goes on without it where native
   * locks are unsafe. `on`: refuses such a set-up. `off`: the ledger alone.
   */
  lockVeto?: 'auto' | 'on' | 'off'
  /**
   * Which thread keeps this instance's lease. `main` (default): the event loop that the handlers share, so one that blocks it for a lease
   * loses what it runs. `worker`: a thread of its own, which ends the lease when the event loop has not turned past the smallest
   * running `timeoutMs`; needs `url`. See docs/worker-pulse.md.
   */
  pulse?: 'main' | 'worker'
  tables?: TableOptions
  /** Create and update the tables at start. Default true; false for accounts that may not. */
  migrate?: boolean
  /** How long `stop` waits for running attempts before it aborts them. Default 30,000. */
  drainMs?: number
  /** How long a handler may go on after its signal aborted before its row ends without it. Default 5,000. */
  abortGraceMs?: number
  /** Signals that drain. Default SIGTERM and SIGINT; false for none. */
  signals?: readonly NodeJS.Signals[] | false
  /** Gets the plan at start: each task with its next fire times, and the dates of the coming 400 days on which it will not run. Default: nothing is printed. */
  log?: (line: string) => void
  clock?: Clock
  /** Uniform in [0, 1): jitter of pauses. Default Math.random. */
  random?: () => number
}

export type CheckedOptions<TClient> = SchedulerOptions<TClient> & Required<Pick<SchedulerOptions<TClient>,
  'revision' | 'leaseMs' | 'heartbeatMs' | 'concurrency' | 'full' | 'maxQueued' | 'retentionMs' | 'lockVeto' | 'pulse' | 'tables' | 'migrate' | 'drainMs' | 'abortGraceMs' | 'signals' | 'clock' | 'random'>>

/** @throws SchedError SCHED_OPTION_INVALID, SCHED_NAMESPACE_INVALID */
export function checkOptions<TClient>(options: SchedulerOptions<TClient>): CheckedOptions<TClient> {
  const checked: CheckedOptions<TClient> = {
    revision: 0, leaseMs: 30_000, concurrency: 10, full: 'caller-runs', maxQueued: 100, retentionMs: 7 * 86_400_000, lockVeto: 'auto', pulse: 'main', tables: {}, migrate: true, drainMs: 30_000, abortGraceMs: 5000,
    signals: ['SIGTERM', 'SIGINT'], clock: options.pulse === 'worker' ? threadClock : systemClock, random: Math.random, ...options,
    heartbeatMs: options.heartbeatMs ?? Math.min(10_000, (options.leaseMs ?? 30_000) / 3),
  }
  const reject = (name: string, value: unknown, expected: string): never => {
    throw new SchedError('SCHED_OPTION_INVALID', `${name} is ${JSON.stringify(value) ?? String(value)}, expected ${expected}.`)
  }
  if (!['main', 'worker'].includes(checked.pulse)) reject('pulse', checked.pulse, `'main' or 'worker'`)
  if (checked.pulse === 'worker') refuseObjects(options)
  if ((options.dialect === undefined) === (options.url === undefined)) reject('dialect', options.dialect?.name, 'exactly one of dialect and url')
  if (options.dialect !== undefined && options.dialect.spiVersion !== 1) reject('dialect.spiVersion', options.dialect.spiVersion, '1; update @sched/core or the dialect')
  if (options.dialect !== undefined && options.dialect.store === undefined) {
    throw new SchedError('SCHED_CAPABILITY_MISSING', `the dialect ${options.dialect.name} has locks but no store.`, { remedy: 'Give createScheduler a database for the ledger as dialect, and this one as locks.' })
  }
  if (options.namespace !== undefined) checkNamespace(options.namespace)
  const { leaseMs, heartbeatMs, concurrency, lockVeto, drainMs, abortGraceMs, revision } = checked
  const duration = (value: unknown, least: number): boolean => typeof value === 'number' && Number.isFinite(value) && value >= least
  if (!duration(leaseMs, 1000)) reject('leaseMs', leaseMs, 'milliseconds, at least 1000')
  if (!duration(heartbeatMs, 100)) reject('heartbeatMs', heartbeatMs, 'milliseconds, at least 100')
  const marginMs = safetyMarginMs(leaseMs, 0)
  if (leaseMs - marginMs < 2 * heartbeatMs) {
    reject('heartbeatMs', heartbeatMs, `at most ${Math.floor((leaseMs - marginMs) / 2)}: a lease of ${leaseMs} ms less its safety margin of ${marginMs} ms must hold two heartbeats, or one lost packet loses the lease`)
  }
  if (!Number.isInteger(concurrency) || concurrency < 1) reject('concurrency', concurrency, 'a whole number from 1')
  if (!['caller-runs', 'abort', 'discard', 'discard-oldest'].includes(checked.full)) reject('full', checked.full, `'caller-runs', 'abort', 'discard' or 'discard-oldest'`)
  if (!Number.isInteger(checked.maxQueued) || checked.maxQueued < 0) reject('maxQueued', checked.maxQueued, 'a whole number from 0')
  if (checked.retentionMs !== Infinity && !duration(checked.retentionMs, 0)) reject('retentionMs', checked.retentionMs, 'milliseconds, 0 or more, or Infinity')
  if (!['auto', 'on', 'off'].includes(lockVeto)) reject('lockVeto', lockVeto, `'auto', 'on' or 'off'`)
  if (!duration(drainMs, 0)) reject('drainMs', drainMs, 'milliseconds, 0 or more')
  if (!duration(abortGraceMs, 0)) reject('abortGraceMs', abortGraceMs, 'milliseconds, 0 or more')
  if (!Number.isSafeInteger(revision) || revision < 0) reject('revision', revision, 'a whole number from 0')
  return checked
}
