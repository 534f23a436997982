import type { SqlFragments, Tables } from '../spi/store-dialect.ts'
import type { TableOptions } from './tables.ts'

/** The version this code writes, and the oldest version of the code that may work on what it wrote. Additive within a major. */
export const schemaVersion = 1
export const minimumReader = 1

export interface SchemaStep {
  /** The schema version this step leads to. */
  readonly version: number
  readonly statements: readonly string[]
}

/** Longest task name in code points, so that (namespace, task_name, fire_time, slot_key) fits every product's index. */
export const longestTaskName = 128

/** The lock table alone: all that `createLocks` needs on a lock table. */
export function lockTableStatement(sql: SqlFragments, tables: Tables): string {
  const { integer, ascii, name } = sql.types
  return sql.createTable(tables.locks, `lock_name ${ascii(190)} NOT NULL, lock_owner ${ascii(64)}, owner_label ${name(190)}, acquired_at ${integer} NOT NULL, expires_at ${integer} NOT NULL, fencing_token ${integer} NOT NULL, PRIMARY KEY (lock_name)`)
}

/** Meta is created first, outside the migration lease that lives in it. */
export function metaTableStatement(sql: SqlFragments, tables: Tables): string {
  const { ascii, text } = sql.types
  return sql.createTable(tables.meta, `namespace ${ascii(32)} NOT NULL, meta_key ${ascii(64)} NOT NULL, meta_value ${text}, PRIMARY KEY (namespace, meta_key)`)
}

/** Every step, oldest first. A step is idempotent statement by statement: each tolerates `already-exists`. */
export function schemaSteps(sql: SqlFragments, tables: Tables, options: TableOptions = {}): readonly SchemaStep[] {
  const { integer, ascii, name, text, longText } = sql.types
  const prefix = options.prefix ?? 'sched_'
  const key = `namespace ${ascii(32)} NOT NULL`
  const task = `task_name ${name(longestTaskName)} NOT NULL`
  return [{
    version: 1,
    statements: [
      lockTableStatement(sql, tables),
      sql.createTable(tables.nodes, `${key}, node_id ${ascii(36)} NOT NULL, state ${ascii(16)} NOT NULL, lease_until ${integer} NOT NULL, started_at ${integer} NOT NULL, node_label ${name(190)}, revision ${integer} NOT NULL, versions ${text}, clock_offset_ms ${integer}, PRIMARY KEY (namespace, node_id)`),
      sql.createTable(tables.tasks, `${key}, ${task}, definition_hash ${ascii(64)} NOT NULL, revision ${integer} NOT NULL, spec ${longText} NOT NULL, override_spec ${longText}, state ${ascii(16)} NOT NULL, state_reason ${text}, armed_from ${integer} NOT NULL, gate_owner ${ascii(64)}, gate_node ${ascii(36)}, fencing_token ${integer} NOT NULL, PRIMARY KEY (namespace, task_name)`),
      sql.createTable(tables.executions, `${key}, execution_id ${ascii(64)} NOT NULL, ${task}, fire_time ${integer} NOT NULL, slot_key ${ascii(36)} NOT NULL, state ${ascii(16)} NOT NULL, origin ${ascii(16)} NOT NULL, attempt_reason ${ascii(16)}, node_id ${ascii(36)}, owner ${ascii(64)}, fencing_token ${integer}, attempt ${integer} NOT NULL, crash_count ${integer} NOT NULL, due_at ${integer} NOT NULL, created_at ${integer} NOT NULL, started_at ${integer}, finished_at ${integer}, cancel_requested_at ${integer}, definition_hash ${ascii(64)} NOT NULL, error_code ${ascii(64)}, error_text ${text}, result_text ${longText}, missed_from ${integer}, missed_count ${integer}, PRIMARY KEY (namespace, execution_id), UNIQUE (namespace, task_name, fire_time, slot_key)`),
      sql.createIndex(`${prefix}executions_state_ix`, tables.executions, 'namespace, state, due_at'),
      sql.createIndex(`${prefix}executions_node_ix`, tables.executions, 'namespace, node_id, state'),
      sql.createIndex(`${prefix}executions_task_ix`, tables.executions, 'namespace, task_name, state, fire_time'),
    ],
  }]
}
