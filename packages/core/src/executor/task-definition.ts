import { SchedError } from '../errors.ts'
import { longestTaskName } from '../ledger/schema.ts'
import { compileSchedule, type Schedule } from '../schedule/schedule.ts'
import type { DstRule } from '../schedule/zone/dst-rule.ts'
import { nameFault } from '../spi/lock-name.ts'
import { retryPolicy, retrySpec, type RetryOptions, type RetryPolicy } from './retry-policy.ts'
import type { TaskContext } from './task-context.ts'
import { hashSpec, scheduleSpec, writeSpec, zoneData } from './task-spec.ts'

export type OverlapPolicy = 'skip' | 'queue-one' | 'cancel-previous' | 'allow'
export type MisfirePolicy = 'run-once' | 'skip' | 'run-all' | 'stall'
export type RecoveryPolicy = 'retry' | 'fail' | 'stall'

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
  /**
   * When the previous run has not ended, on whatever instance. `skip` (default): the slot is recorded as skipped. `queue-one`: the latest
   * such slot runs next, older ones are superseded. `cancel-previous`: the running one is asked to end, then the slot runs. `allow`: both run.
   * A retry, a missed slot that is caught up and a run by hand are never skipped for it: they wait until the task is free.
   */
  overlap?: OverlapPolicy
  /**
   * Fire times that no instance claimed or started in time: an outage of all, a deployment, a crash. `run-once` (default): the latest missed slot runs,
   * however late. `skip`: only when it is inside the catch-up window. `run-all`: all run, oldest first, within `runAll`. `stall`: a single slot inside
   * the catch-up window runs; when more were missed, or an older one, none runs and the task waits for `resume`.
   */
  misfire?: MisfirePolicy
  /**
   * Bounds of `misfire: 'run-all'`: the newest `max` (default 100) missed slots not older than `maxAgeMs` (default 24 h, at least two leases). They hold for
   * the slots that wait behind a run as well: a task that falls behind gives the oldest up, as `missed` with the code `backlog`.
   */
  runAll?: { max?: number; maxAgeMs?: number }
  /** How late a missed slot may still start under `misfire: 'skip'` and `'stall'`. Default: half the distance to the next fire time, at least two leases, at most 24 h. */
  catchUpWindowMs?: number
  /** An attempt whose node died: `retry` (default), `fail`, or `stall`: fail, and the task waits for `resume`. */
  recovery?: RecoveryPolicy
  /** For the wait for a local worker; higher first. A queue of the task gives way between its runs to what is not lower. Default 0. */
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
  readonly overlap: OverlapPolicy
  readonly misfire: MisfirePolicy
  readonly runAll: { readonly max: number; readonly maxAgeMs: number }
  readonly catchUpWindowMs: number | undefined
  readonly recovery: RecoveryPolicy
  readonly priority: number
  /** What other nodes need to know, as JSON: the definition of this code. */
  readonly spec: string
  /** Of the effective definition: the spec with a schedule set at run time, where there is one. */
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
  const runAll = { max: options.runAll?.max ?? 100, maxAgeMs: options.runAll?.maxAgeMs ?? 24 * hourMs }
  const duration = (value: unknown, least: number): boolean => typeof value === 'number' && Number.isFinite(value) && value >= least
  const oneOf = (option: keyof TaskOptions, value: string, allowed: readonly string[]): void => { if (!allowed.includes(value)) reject(option, value, allowed.map((text) => `'${text}'`).join(', ')) }
  if (!duration(jitterMs, 0)) reject('jitterMs', jitterMs, 'milliseconds, 0 or more')
  if (timeoutMs !== Infinity && !duration(timeoutMs, 1)) reject('timeoutMs', timeoutMs, 'milliseconds above 0, or Infinity')
  oneOf('overlap', overlap, ['skip', 'queue-one', 'cancel-previous', 'allow'])
  oneOf('misfire', misfire, ['run-once', 'skip', 'run-all', 'stall'])
  oneOf('recovery', recovery, ['retry', 'fail', 'stall'])
  if (misfire === 'run-all' && overlap !== 'skip' && overlap !== 'allow') reject('misfire', misfire, `another policy beside overlap '${overlap}', which keeps one waiting slot and supersedes the rest`)
  if (!Number.isInteger(runAll.max) || runAll.max < 1 || runAll.max > 10_000) reject('runAll', options.runAll, 'max: a whole number from 1 to 10000')
  if (!duration(runAll.maxAgeMs, 0)) reject('runAll', options.runAll, 'maxAgeMs: milliseconds, 0 or more')
  if (catchUpWindowMs !== undefined && !duration(catchUpWindowMs, 0)) reject('catchUpWindowMs', catchUpWindowMs, 'milliseconds, 0 or more')
  if (!Number.isInteger(priority)) reject('priority', priority, 'a whole number')

  const schedule = compileSchedule({ cron: options.cron, everyMs: options.everyMs, timeZone: options.timeZone ?? defaults.timeZone, dst: { ...defaults.dst, ...options.dst }, startAt: options.startAt, endAt: options.endAt })
  const retry = retryPolicy(name, options.retry)
  const spec = writeSpec({
    schedule: scheduleSpec(schedule, options), scheduleSemantics: schedule.scheduleSemantics, tzdata: zoneData(schedule),
    jitterMs, timeoutMs: timeoutMs === Infinity ? null : timeoutMs, retry: retrySpec(options.retry), maxRetries: retry.max, overlap, misfire, runAll: misfire === 'run-all' ? runAll : null, catchUpWindowMs: catchUpWindowMs ?? null, recovery,
  })
  return { name, handler, schedule, jitterMs, timeoutMs, retry, overlap, misfire, runAll, catchUpWindowMs, recovery, priority, spec, hash: hashSpec(spec, null) }
}

function checkName(name: string): void {
  const fault = nameFault(name) ?? (name.trim() !== name ? 'begins or ends with a space' : [...name].length > longestTaskName ? `has ${[...name].length} characters` : undefined)
  if (fault === undefined) return
  throw new SchedError('SCHED_TASK_NAME_INVALID', `the task name ${JSON.stringify(name)} ${fault}: expected a string of 1 to ${longestTaskName} Unicode characters without NUL.`)
}
