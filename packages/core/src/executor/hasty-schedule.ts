import { SchedError } from '../errors.ts'
import type { TaskDefinition } from './task-definition.ts'

/** A cancellation takes up to one heartbeat. @throws SchedError SCHED_OPTION_INVALID */
export function refuseHasty({ name, overlap, schedule }: Pick<TaskDefinition, 'name' | 'schedule'> & { overlap: string }, heartbeatMs: number, now: number): void {
  const periodMs = overlap === 'cancel-previous' ? schedule.period(now) : null
  if (periodMs === null || periodMs >= 2 * heartbeatMs) return
  throw new SchedError('SCHED_OPTION_INVALID', `task ${JSON.stringify(name)}: overlap 'cancel-previous' fires every ${periodMs} ms, and a cancellation takes up to one heartbeat of ${heartbeatMs} ms: no run would ever end.`, {
    remedy: `Choose a period of at least ${2 * heartbeatMs} ms, a shorter heartbeatMs, or 'queue-one'.`,
  })
}
