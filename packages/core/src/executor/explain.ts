import { recordOf, type ExecutionRecord, type FoundRecord } from '../ledger/list.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { standingOf, type Standing } from '../ledger/standing.ts'
import type { TaskWithSpec } from '../ledger/tasks.ts'
import { jitterMs } from '../schedule/jitter.ts'
import { compileSpec, readSpec, type ScheduleSpec } from './task-spec.ts'

/** Why a fire time did or did not run. */
export interface Explanation {
  readonly task: string
  readonly time: Date
  /**
   * The ledger has a record: `ran`, `running`, `waiting` (pending or retry; the text says for what), `skipped`, `missed`, `failed`.
   * The schedule says so: `future`, `not-a-fire-time`, `waiting` (its jitter is not over).
   * There is no record: `before-armed`, the task was new, changed or resumed later than that. `forgotten`, it is older than what the ledger keeps.
   * `paused`, `stalled`, `retired`, the state of the task now. `definition-mismatch`, no live instance is known to carry the definition that
   * rules. `unclaimed`, no instance has claimed it so far. `unknown-task`.
   */
  readonly verdict: 'ran' | 'running' | 'waiting' | 'skipped' | 'missed' | 'failed' | 'future' | 'not-a-fire-time' | 'before-armed' | 'forgotten' | 'paused' | 'stalled' | 'retired'
    | 'definition-mismatch' | 'unclaimed' | 'unknown-task'
  /** A sentence for a person. */
  readonly text: string
  readonly record: ExecutionRecord | undefined
}

const verdicts = { succeeded: 'ran', running: 'running', pending: 'waiting', retry: 'waiting', skipped: 'skipped', missed: 'missed', failed: 'failed' } as const
// Retention deletes nothing younger, whatever the instances are set to.
const leastKeptMs = 3_600_000

export async function explainFireTime(ledger: Ledger, task: string, row: TaskWithSpec | undefined, time: Date, dbNow: number): Promise<Explanation> {
  const at = time.getTime()
  const answer = (verdict: Explanation['verdict'], text: string, record?: ExecutionRecord): Explanation => ({ task, time, verdict, text, record })
  const found = await recordOf(ledger, task, at)
  if (row === undefined && found === undefined) return answer('unknown-task', `no instance has registered a task of this name in the namespace ${ledger.namespace}.`)
  const schedule = row && compileSpec(row.override === null ? readSpec(row.spec).schedule : JSON.parse(row.override) as ScheduleSpec)
  const fires = schedule === undefined || schedule.previous(at) === at
  if (found !== undefined && (fires || found.answersAlways(row?.definitionHash))) {
    const { record } = found
    // A range record that a person has had retried ran for the last of its fire times only.
    const verdict = record.missedCount !== null && at !== record.fireTime ? 'missed' : verdicts[record.state]
    const waits = verdict === 'waiting' && row !== undefined ? ` ${whatFor(row, record, await standingOf(ledger, task), dbNow)}` : ''
    return answer(verdict, `${describe(found, at)}${waits}`, record)
  }
  if (row === undefined || schedule === undefined) throw new RangeError('a record without a task is always an answer')
  if (!fires) return answer('not-a-fire-time', `${schedule.describe} does not fire then; the one before is ${iso(schedule.previous(at))}, the next ${iso(schedule.next(at))}.`)
  if (at > dbNow) return answer('future', 'its time has not come.')
  const standing = await standingOf(ledger, task)
  const { oldest, newest } = standing
  if (at < dbNow - leastKeptMs && newest !== null && (at <= row.armedFrom || at < newest)) return answer('forgotten', forgotten(row, at, oldest))
  if (at <= row.armedFrom) return answer('before-armed', `the task was new, changed or resumed at ${iso(row.armedFrom)}: what fired until then is not missed.`)
  if (row.state !== 'active') return answer(row.state, `the task is ${row.state}: ${row.stateReason ?? 'no reason was given'}.`)
  const dueAt = at + jitterMs(task, readSpec(row.spec).jitterMs)
  if (dueAt > dbNow) return answer('waiting', `its jitter moves the start to ${iso(dueAt)}.`)
  if (standing.instances === 0) return answer('unclaimed', 'no instance is alive. It is settled by a scan after the next start.')
  if (!standing.carried) return answer('definition-mismatch', `${uncarried(row)} It is settled by a scan once one does.`)
  return answer('unclaimed', 'no instance has claimed it so far. When nobody does, a scan settles it: within a heartbeat of its lateness, or when an instance that was away is back.')
}

/** What a pending or retry row is waiting for. */
function whatFor(row: TaskWithSpec, record: ExecutionRecord, { instances, carried, gateTaken }: Standing, dbNow: number): string {
  if (record.dueAt > dbNow) return `It is due at ${iso(record.dueAt)}.`
  const since = `It has been due since ${iso(record.dueAt)}`
  if (row.state === 'retired') return `${since}; the task is retired: ${row.stateReason ?? 'no reason was given'}.`
  if (instances === 0) return `${since}; no instance is alive.`
  if (!carried) return `${since}. ${uncarried(row)}`
  if (row.state !== 'active') return `${since}; the task is ${row.state}: ${row.stateReason ?? 'no reason was given'}.`
  return gateTaken ? `${since}, and waits for the run before it.` : `${since}, and waits for an instance with a free worker.`
}

function uncarried({ revision }: TaskWithSpec): string {
  return `The definition that rules (revision ${revision}) is carried by no live instance that is known, and instances with another one do not claim. After a few heartbeats it gives way to theirs; where it does not, no live instance has the task.`
}

function forgotten({ armedFrom }: TaskWithSpec, at: number, oldest: number | null): string {
  const until = `the ledger has no record of it: ended executions are deleted after retentionMs, and the oldest slot it has is of ${iso(oldest)}`
  return at <= armedFrom ? `${until}. If it never had one, the task was new, changed or resumed later, at the latest at ${iso(armedFrom)}.` : `${until}.`
}

function describe({ record, retriedByHand }: FoundRecord, at: number): string {
  const { state, errorCode, errorText, attempt, missedCount, missedFrom, fireTime } = record
  const attempts = attempt === 0 ? '' : state === 'running' ? `, attempt ${attempt}` : ` after ${attempt} attempt${attempt === 1 ? '' : 's'}`
  // Of what runs it is the error of the attempt before.
  const why = errorCode === null ? '' : `${state === 'running' ? ', after' : ':'} ${errorCode === state ? '' : `${errorCode}, `}${errorText ?? ''}`
  const one = sentence(`${state}${attempts}${why}`)
  if (missedCount === null || missedFrom === null) return retriedByHand ? `${one} It was retried by hand.` : one
  const many = `one of ${missedCount} fire times from ${iso(missedFrom)} to ${iso(fireTime)} that were missed`
  if (state === 'missed') return sentence(`${many}: ${errorText ?? ''}`)
  return at === fireTime ? `${one} It was retried by hand, as the last of ${missedCount} fire times from ${iso(missedFrom)} that were missed.` : `${many}; the last of them was retried by hand (${state}).`
}

function sentence(text: string): string { return /[.!?]$/.test(text) ? text : `${text}.` }

function iso(instant: number | null): string { return instant === null ? 'none' : new Date(instant).toISOString() }
