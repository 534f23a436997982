import { createHash } from 'node:crypto'
import { SchedError } from '../errors.ts'
import { longestTaskName } from '../ledger/schema.ts'
import { compileSchedule, type Schedule } from '../schedule/schedule.ts'
import type { DstRule } from '../schedule/zone/dst-rule.ts'
import { nameFault } from '../spi/lock-name.ts'
import { retryPolicy, type RetryOptions, type RetryPolicy } from './retry-policy.ts'
import type { TaskContext } from './task-context.ts'

export interface TaskOptions {
  /** 5, 6 or 7 fields or a macro. Exactly one of `cron` and `everyMs`. */
  cron?: string
  /** A fixed interval of at least 1,000 ms, aligned to the epoch so that all nodes agree. */
  everyMs?: number
  /** IANA name. Default: the scheduler's, else `UTC`. */
  timeZone?: string
  dst?: DstRule
  startAt?: Date
  endAt?: Date
  /** Spreads starts over so many milliseconds by a hash of the task's name: the same on every node. Moves the due time, never the fire time. Default 0. */
  jitterMs?: number
  /** Longest run of one attempt; its signal aborts then. Default 1 h; no limit must be written out as `Infinity`. */
  timeoutMs?: number
  retry?: RetryOptions
  /** When the previous run has not ended: `skip` (default) records the slot as skipped, `allow` runs both. */
  overlap?: 'skip' | 'allow'
  /** After an outage: `run-once` (default) runs the latest missed slot, `skip` only when it is inside the catch-up window. */
  misfire?: 'run-once' | 'skip'
  /** How late a missed slot may still start under `misfire: 'skip'`. Default: half the distance to the next fire time, at least two leases, at most 24 h. */
  catchUpWindowMs?: number
  /** An attempt whose node died: `retry` (default) or `fail`. */
  recovery?: 'retry' | 'fail'
  /** For the wait for a local worker; higher first. Default 0. */
  priority?: number
}

export type TaskHandler<TClient = unknown> = (context: TaskContext<TClient>) => unknown

export interface TaskDefinition<TClient = unknown> {
  readonly name: string
  readonly handler: TaskHandler<TClient>
  readonly schedule: Schedule
  readonly jitterMs: number
  readonly timeoutMs: number
  readonly retry: RetryPolicy
  readonly overlap: 'skip' | 'allow'
  readonly misfire: 'run-once' | 'skip'
  readonly catchUpWindowMs: number | undefined
  readonly recovery: 'retry' | 'fail'
  readonly priority: number
  /** What other nodes need to know, as JSON. */
  readonly spec: string
  readonly hash: string
}

const hourMs = 3_600_000

/** @throws SchedError at registration, naming the value, what was expected and the way out */
export function defineTask<TClient>(name: string, options: TaskOptions, handler: TaskHandler<TClient>, defaults: { timeZone?: string | undefined; dst?: DstRule | undefined }): TaskDefinition<TClient> {
  checkName(name)
  const reject = (option: keyof TaskOptions | 'handler', value: unknown, expected: string): never => {
    throw new SchedError('SCHED_OPTION_INVALID', `task ${JSON.stringify(name)}: ${option} is ${typeof value === 'function' ? 'a function' : JSON.stringify(value) ?? String(value)}, expected ${expected}.`)
  }
  if (typeof options !== 'object' || options === null) reject('cron', options, 'an object with cron or everyMs')
  if (typeof handler !== 'function') reject('handler', handler, 'a function')
  const { jitterMs = 0, timeoutMs = hourMs, overlap = 'skip', misfire = 'run-once', catchUpWindowMs, recovery = 'retry', priority = 0 } = options
  const duration = (value: unknown, least: number): boolean => typeof value === 'number' && Number.isFinite(value) && value >= least
  if (!duration(jitterMs, 0)) reject('jitterMs', jitterMs, 'milliseconds, 0 or more')
  if (timeoutMs !== Infinity && !duration(timeoutMs, 1)) reject('timeoutMs', timeoutMs, 'milliseconds above 0, or Infinity')
  if (overlap !== 'skip' && overlap !== 'allow') reject('overlap', overlap, `'skip' or 'allow'`)
  if (misfire !== 'run-once' && misfire !== 'skip') reject('misfire', misfire, `'run-once' or 'skip'`)
  if (catchUpWindowMs !== undefined && !duration(catchUpWindowMs, 0)) reject('catchUpWindowMs', catchUpWindowMs, 'milliseconds, 0 or more')
  if (recovery !== 'retry' && recovery !== 'fail') reject('recovery', recovery, `'retry' or 'fail'`)
  if (!Number.isInteger(priority)) reject('priority', priority, 'a whole number')

  const schedule = compileSchedule({ cron: options.cron, everyMs: options.everyMs, timeZone: options.timeZone ?? defaults.timeZone, dst: { ...defaults.dst, ...options.dst }, startAt: options.startAt, endAt: options.endAt })
  const retry = retryPolicy(name, options.retry)
  const spec = JSON.stringify({
    schedule: { cron: options.cron ?? null, everyMs: options.everyMs ?? null, timeZone: schedule.timeZone, dst: schedule.dst, startAt: schedule.startAt, endAt: schedule.endAt },
    scheduleSemantics: schedule.scheduleSemantics,
    // Two versions of the zone data compute different fire times for one schedule; in UTC they do not.
    tzdata: schedule.timeZone === 'UTC' ? null : process.versions.tz ?? null,
    jitterMs, timeoutMs: timeoutMs === Infinity ? null : timeoutMs, retry: { ...options.retry, retryable: undefined }, maxRetries: retry.max, overlap, misfire, catchUpWindowMs: catchUpWindowMs ?? null, recovery,
  })
  return { name, handler, schedule, jitterMs, timeoutMs, retry, overlap, misfire, catchUpWindowMs, recovery, priority, spec, hash: createHash('sha256').update(spec, 'utf8').digest('hex') }
}

function checkName(name: string): void {
  const fault = nameFault(name) ?? (name.trim() !== name ? 'begins or ends with a space' : [...name].length > longestTaskName ? `has ${[...name].length} characters` : undefined)
  if (fault === undefined) return
  throw new SchedError('SCHED_TASK_NAME_INVALID', `the task name ${JSON.stringify(name)} ${fault}: expected a string of 1 to ${longestTaskName} Unicode characters without NUL.`)
}

/** Crashes after which a task is poison: a handler that kills its process must not do so for ever. */
export function maxCrashes(maxRetries: number): number { return Math.max(3, maxRetries + 1) }

/** The rule for crashed attempts, from the definition in the ledger: a sweep settles tasks whose code this node does not have. */
export function recoveryRule(spec: string | null): { recover: boolean; maxCrashes: number } {
  const parsed = spec === null ? {} : JSON.parse(spec) as { recovery?: string; maxRetries?: number }
  return { recover: parsed.recovery !== 'fail', maxCrashes: maxCrashes(parsed.maxRetries ?? 0) }
}
