import type { SlotInsert, Statement, Tables } from '@sched/core/spi'
import { fragments } from './fragments.ts'

/**
 * Statement N in one round trip that is never an error: guards, insert, and one row that says what became of it. The guards are read
 * WITH (NOLOCK), because a transaction that has the task's row (F of a frozen node) must not stop it; the start checks them again.
 * A row of the same key that is not committed yet is waited for, within LOCK_TIMEOUT. Outside a transaction a caught error dooms nothing.
 * https://learn.microsoft.com/sql/t-sql/language-elements/try-catch-transact-sql
 */
export function slotInsert(tables: Tables, slot: SlotInsert): Statement {
  const columns = 'namespace, execution_id, task_name, fire_time, slot_key, state, origin, attempt, crash_count, due_at, created_at, definition_hash'
  return {
    text: `DECLARE @now bigint = ${fragments.nowMs}, @eligible int = 0, @won int = 0;
SELECT @eligible = COUNT(*) FROM ${tables.tasks} WITH (NOLOCK) WHERE namespace = ? AND task_name = ? AND state = 'active' AND definition_hash = ? AND armed_from < ? AND ? BETWEEN @now - ? AND @now + ?;
IF @eligible > 0
BEGIN TRY
 INSERT INTO ${tables.executions} (${columns}) VALUES (?, ?, ?, ?, 'cron', 'pending', 'scheduled', 0, 0, ?, @now, ?);
 SET @won = @@ROWCOUNT;
END TRY
BEGIN CATCH
 IF ERROR_NUMBER() NOT IN (2627, 2601) THROW;
END CATCH;
SELECT @won AS won, CASE WHEN @eligible > 0 THEN 1 ELSE 0 END AS eligible, @now AS db_now`,
    params: [
      slot.namespace, slot.taskName, slot.definitionHash, slot.fireTime, slot.fireTime, slot.maxClaimAgeMs, slot.toleranceMs,
      slot.namespace, slot.executionId, slot.taskName, slot.fireTime, slot.dueAt, slot.definitionHash,
    ],
  }
}
