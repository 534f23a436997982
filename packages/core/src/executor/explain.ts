import type { ExecutionRecord } from '../ledger/list.ts'
import { recordOf } from '../ledger/list.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { TaskRow } from '../ledger/tasks.ts'
import { compileSpec, readSpec, type ScheduleSpec } from './task-spec.ts'

/** Why a fire time did or did not run. */
export interface Explanation {
  readonly task: string
  readonly time: Date
  /**
   * `ran`, `running`, `waiting` (pending or retry), `skipped`, `missed`, `failed`: the ledger has a record. `future`, `not-a-fire-time`: the
   * schedule says so. `before-armed`: the task was new, changed or resumed later than that. `paused`, `stalled`, `retired`: the state of the
   * task now. `unclaimed`: it should have been claimed, and a scan has not settled it yet. `unknown-task`.
   */
  readonly verdict: 'ran' | 'running' | 'waiting' | 'skipped' | 'missed' | 'failed' | 'future' | 'not-a-fire-time' | 'before-armed' | 'paused' | 'stalled' | 'retired' | 'unclaimed' | 'unknown-task'
  /** A sentence for a person. */
  readonly text: string
  readonly record: ExecutionRecord | undefined
}

const verdicts = { succeeded: 'ran', running: 'running', pending: 'waiting', retry: 'waiting', skipped: 'skipped', missed: 'missed', failed: 'failed' } as const

export async function explainFireTime(ledger: Ledger, task: string, row: TaskRow | undefined, time: Date, dbNow: number): Promise<Explanation> {
  const at = time.getTime()
  const answer = (verdict: Explanation['verdict'], text: string, record?: ExecutionRecord): Explanation => ({ task, time, verdict, text, record })
  const record = await recordOf(ledger, task, at)
  if (record !== undefined) return answer(verdicts[record.state], describe(record), record)
  if (row === undefined) return answer('unknown-task', `no instance has registered a task of this name in the namespace ${ledger.namespace}.`)
  const schedule = compileSpec(row.override === null ? readSpec(row.spec).schedule : JSON.parse(row.override) as ScheduleSpec)
  const iso = (instant: number | null): string => (instant === null ? 'none' : new Date(instant).toISOString())
  if (schedule.previous(at) !== at) return answer('not-a-fire-time', `${schedule.describe} does not fire then; the one before is ${iso(schedule.previous(at))}, the next ${iso(schedule.next(at))}.`)
  if (at > dbNow) return answer('future', 'its time has not come.')
  if (at <= row.armedFrom) return answer('before-armed', `the task was new, changed or resumed at ${iso(row.armedFrom)}: what fired until then is not missed.`)
  if (row.state !== 'active') return answer(row.state, `the task is ${row.state}: ${row.stateReason ?? 'no reason was given'}.`)
  return answer('unclaimed', 'no instance has claimed it. It is settled by the next scan: after the start of an instance, or within a heartbeat of its lateness.')
}

function describe({ state, errorCode, errorText, attempt, missedCount, missedFrom, fireTime }: ExecutionRecord): string {
  if (missedCount !== null && missedFrom !== null) return `one of ${missedCount} fire times from ${new Date(missedFrom).toISOString()} to ${new Date(fireTime).toISOString()} that were ${state}: ${errorText ?? ''}`
  const why = errorCode === null ? '' : `: ${errorCode}, ${errorText ?? ''}`
  return `${state} after ${attempt} attempt${attempt === 1 ? '' : 's'}${why}`
}
