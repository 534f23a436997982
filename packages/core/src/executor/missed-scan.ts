import { randomUUID } from 'node:crypto'
import { setImmediate as yieldLoop } from 'node:timers/promises'
import { settledUntil, settleMissed, type MissedOutcome } from '../ledger/missed.ts'
import type { TaskRow } from '../ledger/tasks.ts'
import type { Executor } from './executor.ts'
import type { TaskDefinition } from './task-definition.ts'

const dayMs = 86_400_000
const hourMs = 3_600_000
// Walking the fire times of a long outage must not hold the loop; beyond the cap the record counts what was walked.
const chunk = 2000
const mostWalked = 500_000

/** How old a slot may be to run at all, by its misfire policy. */
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
 * Looks for fire times that nobody claimed, up to `until`, and settles them: what the misfire policy picks runs now, the rest
 * is one record. Null when there was nothing to settle or another node was faster.
 */
export async function settleMissedSlots(executor: Executor, task: TaskDefinition, row: TaskRow, until: number): Promise<MissedOutcome | null> {
  const { ledger, databaseClock, leaseMs } = executor
  if (until <= row.armedFrom) return null
  const from = await settledUntil(ledger, task.name, row.armedFrom, until - maxClaimAgeMs(task, leaseMs) - hourMs)
  const fireTimes = await walk(task, from, until)
  if (fireTimes.length === 0) return null
  return settleMissed(ledger, {
    taskName: task.name, definitionHash: task.hash, armedFrom: row.armedFrom, fireTimes, stall: task.misfire === 'stall', newId: randomUUID,
    catchUp: (holes) => chooseCatchUps(task, holes, databaseClock.nowMs(), leaseMs),
  })
}

async function walk(task: TaskDefinition, after: number, until: number): Promise<number[]> {
  const found: number[] = []
  for (let next = task.schedule.next(after); next !== null && next <= until && found.length < mostWalked; next = task.schedule.next(next)) {
    found.push(next)
    if (found.length % chunk === 0) await yieldLoop()
  }
  return found
}

/**
 * `run-once`: the latest hole, as long as a slot may be claimed at all; `skip`: only inside the catch-up window; `run-all`: the newest
 * within its bounds; `stall`: none.
 */
function chooseCatchUps(task: TaskDefinition, holes: readonly number[], now: number, leaseMs: number): readonly number[] {
  const notOlderThan = (ageMs: number): readonly number[] => holes.filter((fireTime) => now - fireTime - task.jitterMs <= ageMs)
  switch (task.misfire) {
    case 'run-once': return notOlderThan(oldestRunMs(task, leaseMs)).slice(-1)
    case 'skip': return notOlderThan(catchUpWindowMs(task, holes.at(-1) ?? now, leaseMs)).slice(-1)
    case 'run-all': return notOlderThan(task.runAll.maxAgeMs).slice(-task.runAll.max)
    case 'stall': return []
  }
}

/** clamp(half the distance to the next fire time, 2 leases, 24 h), unless the task says otherwise. */
function catchUpWindowMs(task: TaskDefinition, fireTime: number, leaseMs: number): number {
  if (task.catchUpWindowMs !== undefined) return task.catchUpWindowMs
  const distanceMs = task.schedule.period(fireTime) ?? dayMs
  return Math.min(dayMs, Math.max(2 * leaseMs, distanceMs / 2))
}
