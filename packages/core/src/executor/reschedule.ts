import { SchedError } from '../errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { overrideSchedule, requireTask } from '../ledger/operate.ts'
import { readTask } from '../ledger/tasks.ts'
import { assertFiresAfter, compileSchedule, type ScheduleDefinition } from '../schedule/schedule.ts'
import type { SqlRow } from '../spi/sql-session.ts'
import { refuseHasty } from './hasty-schedule.ts'
import { hashSpec, readSpec, scheduleSpec, storedSchedule } from './task-spec.ts'

/** Checked as at registration; what is left out is as the code has it: zone, daylight saving rule, beginning and end. */
export async function rescheduleTask(ledger: Ledger, task: string, definition: ScheduleDefinition | null, now: () => Promise<number>): Promise<void> {
  const row = await readTask(ledger, task)
  if (row === undefined) return requireTask(ledger, task)
  const override = definition === null ? null : await checkedOverride(ledger, task, row.spec, definition, await now())
  if (await overrideSchedule(ledger, row, override, hashSpec(row.spec, override, await zoneDataOf(ledger, task)), storedSchedule)) return
  throw new SchedError('SCHED_CONTENDED', `the definition of ${JSON.stringify(task)} changed at the same moment.`, { remedy: 'Look at it and try again.' })
}

async function checkedOverride(ledger: Ledger, name: string, spec: string, { cron, everyMs, ...given }: ScheduleDefinition, now: number): Promise<string> {
  const { schedule: code, overlap } = readSpec(spec)
  const schedule = compileSchedule({
    cron, everyMs, timeZone: given.timeZone ?? code.timeZone, dst: { ...code.dst, ...given.dst }, startAt: given.startAt ?? code.startAt ?? undefined, endAt: given.endAt ?? code.endAt ?? undefined,
  })
  assertFiresAfter(schedule, now)
  if (overlap === 'cancel-previous') refuseHasty({ name, overlap, schedule }, await longestHeartbeatMs(ledger), now)
  return JSON.stringify(scheduleSpec(schedule, { cron, everyMs }))
}

/** Among the live instances, as they said when they registered; 0 when there are none. */
async function longestHeartbeatMs({ tables, store, namespace }: Ledger): Promise<number> {
  const { rows } = await store.run('looking for the heartbeats', { text: `SELECT DISTINCT versions FROM ${tables.nodes} WHERE namespace = ? AND state = 'alive'`, params: [namespace] })
  return Math.max(0, ...rows.map((row) => versionsOf(row).heartbeatMs ?? 0))
}

/** Of the node that carries the task, so that the one who asks need not have the same; this process's own when it does not say. */
async function zoneDataOf({ tables, store, namespace }: Ledger, task: string): Promise<string | null | undefined> {
  const { rows: [row] } = await store.run('looking for the zone data', {
    text: `SELECT n.versions FROM ${tables.tasks} t JOIN ${tables.nodes} n ON n.namespace = t.namespace AND n.node_id = t.defined_by WHERE t.namespace = ? AND t.task_name = ?`, params: [namespace, task],
  })
  return versionsOf(row).tzdata
}

function versionsOf(row: SqlRow | undefined): { readonly heartbeatMs?: number; readonly tzdata?: string | null } {
  return JSON.parse(row?.['versions'] as string | null | undefined ?? '{}') as ReturnType<typeof versionsOf>
}
