import { randomUUID } from 'node:crypto'
import { setImmediate as yieldLoop } from 'node:timers/promises'
import { fromFirstHole, settledUntil, settleMissed, type MissedOutcome } from '../ledger/missed.ts'
import type { ArmedTask } from './armed-task.ts'
import type { Executor } from './executor.ts'
import type { TaskDefinition } from './task-definition.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
// Walking the fire times of a long outage must not hold the loop, and the newest are the ones that may run.
const chunk = 2000
const mostWalked = 500_000
// Without a hole there is nothing to write; but with more than these armed_from moves, so that the next scan begins there.
const mostReadAgain = 2000

/** How old a slot may be to be claimed, by its misfire policy. Only the latest of `run-once` may be picked by a scan when it is older. */
function oldestRunMs({ misfire, runAll, catchUpWindowMs }: TaskDefinition, leaseMs: number): number {
  switch (misfire) {
    case 'run-once': return dayMs
    case 'run-all': return Math.max(runAll.maxAgeMs, 2 * leaseMs)
    case 'skip':
    case 'stall': return Math.max(catchUpWindowMs ?? dayMs, 2 * leaseMs)
  }
}

/** How late a slot may still be claimed: what N accepts, and the floor of retention (I1). Jitter moves the claim, never the fire time. */
export function maxClaimAgeMs(task: TaskDefinition, leaseMs: number): number {
  return oldestRunMs(task, leaseMs) + task.jitterMs
}

/**
 * Looks for fire times up to `until` that nobody claimed, or that were claimed and never started, and settles them: what the misfire
 * policy picks runs now, the rest is one record. Null when there was nothing to settle; `overtaken` when another node or a person was
 * faster: the row must be read anew.
 */
export async function settleMissedSlots(executor: Executor, armed: ArmedTask, until: number): Promise<MissedOutcome | 'overtaken' | null> {
  const { ledger, databaseClock, leaseMs } = executor
  const { definition: task, row: { armedFrom }, orphaned } = armed
  // Known without a statement: thousands of tasks are looked at after a start.
  const seen = Math.max(armedFrom, armed.seenUntil)
  if (!orphaned && (task.schedule.next(seen) ?? Infinity) > until) return null
  const { from, newest } = await settledUntil(ledger, task.name, seen, until - maxClaimAgeMs(task, leaseMs) - hourMs)
  const listed = await walkBack(task, from, until)
  if (!orphaned && listed.length === 0) return null
  const before = unlisted(task, from, listed[0])
  const unsettled = before === undefined ? await fromFirstHole(ledger, task.name, listed) : listed
  if (!orphaned && unsettled.length === 0 && listed.length <= mostReadAgain) {
    // Unless it has another schedule by now.
    if (armed.definition === task) armed.seenUntil = Math.max(seen, until)
    return null
  }
  // The last one moves armed_from.
  const fireTimes = unsettled.length === 0 ? listed.slice(-1) : unsettled
  return settleMissed(ledger, {
    taskName: task.name, definitionHash: task.hash, armedFrom, fireTimes, before, orphansUntil: orphansUntil(armed, until), stall: task.misfire === 'stall', newId: randomUUID,
    catchUp: (holes) => chooseCatchUps(task, holes, newest, databaseClock.nowMs(), leaseMs),
  })
}

/** In a queue slots wait for their turn; only what a look has found there too late is an orphan. */
function orphansUntil({ queues, orphaned, orphanedUntil }: ArmedTask, until: number): number | undefined {
  if (!queues) return until
  return orphaned ? orphanedUntil : undefined
}

/** Where a queue is kept: the policy gives up a slot of this age that nobody has started, as it does without one. `run-all` has bounds of its own. */
export function tooLateForQueue({ misfire, ...task }: TaskDefinition, fireTime: number, now: number, leaseMs: number): boolean {
  return (misfire === 'skip' || misfire === 'stall') && now - fireTime - task.jitterMs > catchUpWindowMs(task, fireTime, leaseMs)
}

/** The newest fire times in `(after, until]`, ascending. */
async function walkBack({ schedule }: TaskDefinition, after: number, until: number): Promise<number[]> {
  const found: number[] = []
  for (let at = schedule.previous(until); at !== null && at > after && found.length < mostWalked; at = schedule.previous(at - 1)) {
    found.push(at)
    if (found.length % chunk === 0) await yieldLoop()
  }
  return found.reverse()
}

/** What a walk back has left between `after` and the first of its fire times. Those of an interval are known by arithmetic, those of a cron expression stay uncounted. */
function unlisted({ schedule }: TaskDefinition, after: number, first: number | undefined): { from: number; count: number } | undefined {
  const from = schedule.next(after)
  if (first === undefined || from === null || from >= first) return undefined
  return { from, count: schedule.walk === null ? (first - from) / (schedule.period(from) ?? Infinity) : 0 }
}

/**
 * `run-once`: the latest hole; one that is older than a slot may be claimed only when nothing later has a row, since otherwise its own
 * row may have been deleted. `skip`: the latest, inside the catch-up window. `stall`: the same when it is the only one. `run-all`: the
 * newest within its bounds.
 */
function chooseCatchUps(task: TaskDefinition, holes: readonly number[], newest: number, now: number, leaseMs: number): readonly number[] {
  const latest = holes.at(-1)
  if (latest === undefined) return []
  const ageMs = (fireTime: number): number => now - fireTime - task.jitterMs
  const inWindow = (): boolean => ageMs(latest) <= catchUpWindowMs(task, latest, leaseMs)
  switch (task.misfire) {
    case 'run-once': return latest >= newest || ageMs(latest) <= oldestRunMs(task, leaseMs) ? [latest] : []
    case 'skip': return inWindow() ? [latest] : []
    case 'stall': return holes.length === 1 && inWindow() ? [latest] : []
    case 'run-all': return holes.filter((fireTime) => ageMs(fireTime) <= oldestRunMs(task, leaseMs)).slice(-task.runAll.max)
  }
}

/** clamp(half the distance to the next fire time, 2 leases, 24 h), unless the task says otherwise. */
function catchUpWindowMs(task: Pick<TaskDefinition, 'catchUpWindowMs' | 'schedule'>, fireTime: number, leaseMs: number): number {
  if (task.catchUpWindowMs !== undefined) return task.catchUpWindowMs
  const distanceMs = task.schedule.period(fireTime) ?? dayMs
  return Math.min(dayMs, Math.max(2 * leaseMs, distanceMs / 2))
}
