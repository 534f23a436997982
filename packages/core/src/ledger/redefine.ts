import type { SqlSession } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'
import type { ScheduleReader, StoredTask } from './stored-task.ts'
import type { Carrier, TaskRegistration } from './tasks.ts'
import { writeOff } from './write-off.ts'

/** Puts a node's definition in the place of the stored one, which the transaction has locked. Also lifts a tombstone. */
export async function redefine(ledger: Ledger, stored: StoredTask, task: TaskRegistration, node: Carrier, sql: SqlSession): Promise<void> {
  const { tables, namespace } = ledger
  const armedFrom = await armFrom(ledger, stored, { spec: task.spec, override: stored.override }, task.readSchedule, sql)
  await sql.run({
    text: `UPDATE ${tables.tasks} SET definition_hash = ?, spec = ?, revision = ?, defined_by = ?, armed_from = ?, state = ?, state_reason = ? WHERE namespace = ? AND task_name = ?`,
    params: [task.definitionHash(stored.override), task.spec, node.revision, node.nodeId, armedFrom, ...(stored.state === 'retired' ? ['active', null] : [stored.state, stored.stateReason]), namespace, task.taskName],
  })
}

/**
 * From when the changed task is armed: a change that leaves its fire times alone leaves what is still to be claimed alone too. Otherwise
 * from now, with a record of what the old schedule had left.
 */
export async function armFrom(ledger: Ledger, stored: StoredTask, changed: Pick<StoredTask, 'spec' | 'override'>, readSchedule: ScheduleReader, sql: SqlSession): Promise<number> {
  const old = readSchedule(stored)
  const retired = stored.state === 'retired'
  if (!retired && old !== null && old.key === readSchedule(changed)?.key) return stored.armedFrom
  const why = retired ? { code: 'retired' as const, text: 'the task had been removed.' } : { code: 'redefined' as const, text: 'the schedule was changed before an instance claimed these fire times.' }
  if (old !== null) await writeOff(ledger, stored, old.schedule, why, sql)
  return stored.dbNow
}
