import { createHash } from 'node:crypto'
import { compileSchedule, type Schedule } from '../schedule/schedule.ts'
import type { DstRule } from '../schedule/zone/dst-rule.ts'
import type { RecoveryRule } from '../ledger/sweep.ts'
import type { ScheduleReader } from '../ledger/stored-task.ts'
import type { TaskRegistration } from '../ledger/tasks.ts'
import { maxCrashes } from './retry-policy.ts'
import type { TaskDefinition } from './task-definition.ts'

/** A schedule as data: in a task's definition, or set at run time instead of it. */
export interface ScheduleSpec {
  readonly cron: string | null
  readonly everyMs: number | null
  readonly timeZone: string
  readonly dst: Required<DstRule>
  readonly startAt: number | null
  readonly endAt: number | null
}

/** What the ledger keeps of a definition, so that nodes without its code can settle what concerns it. */
export interface TaskSpec {
  readonly schedule: ScheduleSpec
  readonly scheduleSemantics: number
  /** Two versions of the zone data compute different fire times for one schedule; in UTC they do not. */
  readonly tzdata: string | null
  readonly jitterMs: number
  readonly timeoutMs: number | null
  readonly retry: object
  readonly maxRetries: number
  readonly overlap: string
  readonly misfire: string
  readonly runAll: object | null
  readonly catchUpWindowMs: number | null
  readonly recovery: string
}

export function writeSpec(spec: TaskSpec): string { return JSON.stringify(spec) }

export function readSpec(text: string): TaskSpec { return JSON.parse(text) as TaskSpec }

export function scheduleSpec(schedule: Schedule, source: { cron?: string | undefined; everyMs?: number | undefined }): ScheduleSpec {
  return { cron: source.cron ?? null, everyMs: source.everyMs ?? null, timeZone: schedule.timeZone, dst: schedule.dst, startAt: schedule.startAt, endAt: schedule.endAt }
}

export function zoneData(schedule: Schedule): string | null {
  return schedule.timeZone === 'UTC' ? null : process.versions.tz ?? null
}

/** @throws SchedError as `compileSchedule` */
export function compileSpec({ cron, everyMs, timeZone, dst, startAt, endAt }: ScheduleSpec): Schedule {
  return compileSchedule({ cron: cron ?? undefined, everyMs: everyMs ?? undefined, timeZone, dst, startAt: startAt ?? undefined, endAt: endAt ?? undefined })
}

/**
 * The hash of the effective definition. Nodes whose hash differs do not claim. A schedule set at run time counts with the zone data of those
 * who are to claim by it.
 */
export function hashSpec(spec: string, override: string | null, tzdata: string | null = process.versions.tz ?? null): string {
  const zoned = override !== null && (JSON.parse(override) as ScheduleSpec).timeZone !== 'UTC'
  const parts = [spec, ...(override === null ? [] : [override]), ...(zoned ? [tzdata] : [])]
  return createHash('sha256').update(parts.join('\n'), 'utf8').digest('hex')
}

/** The definition as it is with the schedule that was set at run time. */
export function withOverride(definition: TaskDefinition, override: string | null): TaskDefinition {
  if (override === null) return definition
  return { ...definition, schedule: compileSpec(JSON.parse(override) as ScheduleSpec), hash: hashSpec(definition.spec, override) }
}

/** The schedule that rules in a stored definition. Versions of the zone data count as one: a new runtime is no new schedule. */
export const storedSchedule: ScheduleReader = ({ spec, override }) => {
  try {
    const { schedule, scheduleSemantics } = readSpec(spec)
    const effective = override === null ? schedule : JSON.parse(override) as ScheduleSpec
    return { key: JSON.stringify([scheduleSemantics, effective]), schedule: compileSpec(effective) }
  } catch {
    // Another build's, that this one cannot read: the other's zone, or a later form.
    return null
  }
}

/** What the ledger is told at registration. */
export function registrationOf({ name, spec }: TaskDefinition): TaskRegistration {
  return { taskName: name, spec, definitionHash: (override) => hashSpec(spec, override), readSchedule: storedSchedule }
}

/** The rule for crashed attempts, from the definition in the ledger. */
export function recoveryRule(spec: string | null): RecoveryRule {
  const { recovery, maxRetries } = spec === null ? { recovery: 'retry', maxRetries: 0 } : readSpec(spec)
  return { recover: recovery === 'retry', stall: recovery === 'stall', maxCrashes: maxCrashes(maxRetries) }
}
