import type { SlotInsert, Statement, Tables } from '@sched/core/spi'
import { fragments } from './fragments.ts'

/**
 * Statement N in one round trip that is never an error. `guard` is the task's row if the guards of the protocol hold; `slot` inserts
 * from it and gives way to whoever has the fire time (or this id) already; the answer is one row in every case.
 * A conflicting row that is not committed yet is waited for, within lock_timeout.
 * https://www.postgresql.org/docs/current/sql-insert.html#SQL-ON-CONFLICT,
 * https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-MODIFYING
 * The clock is read once: a volatile expression in a CTE is never inlined.
 */
export function slotInsert(tables: Tables, slot: SlotInsert): Statement {
  return {
    text: `WITH clock AS (SELECT ${fragments.nowMs} AS db_now),
 guard AS (SELECT t.namespace, t.task_name, t.definition_hash, c.db_now FROM ${tables.tasks} t, clock c
  WHERE t.namespace = ? AND t.task_name = ? AND t.state = 'active' AND t.definition_hash = ? AND t.armed_from < ?
  AND ? BETWEEN c.db_now - ? AND c.db_now + ?),
 slot AS (INSERT INTO ${tables.executions} (namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash)
  SELECT g.namespace, ?, g.task_name, ?, 'cron', 'pending', 'scheduled', 0, 0, ?, g.db_now, g.definition_hash FROM guard g
  ON CONFLICT DO NOTHING RETURNING execution_id)
SELECT (SELECT count(*) FROM slot) AS won, (SELECT count(*) FROM guard) AS eligible, c.db_now FROM clock c`,
    params: [
      slot.namespace, slot.taskName, slot.definitionHash, slot.fireTime, slot.fireTime, slot.maxClaimAgeMs, slot.toleranceMs,
      slot.executionId, slot.fireTime, slot.dueAt,
    ],
  }
}
