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
  const { types } = sql
  return sql.createTable(tables.locks, `lock_name ${types.ascii(190)} NOT NULL, lock_owner ${types.ascii(64)}, owner_label ${types.name(190)}, acquired_at ${types.integer} NOT NULL, expires_at ${types.integer} NOT NULL, fencing_token ${types.integer} NOT NULL, PRIMARY KEY (lock_name)`)
}

/** Meta is created first, outside the migration lease that lives in it. */
export function metaTableStatement(sql: SqlFragments, tables: Tables): string {
  const { types } = sql
  return sql.createTable(tables.meta, `namespace ${types.ascii(32)} NOT NULL, meta_key ${types.ascii(64)} NOT NULL, meta_value ${types.text}, PRIMARY KEY (namespace, meta_key)`)
}

/** Every step, oldest first. A step is idempotent statement by statement: each tolerates `already-exists`. */
export function schemaSteps(sql: SqlFragments, tables: Tables, options: TableOptions = {}): readonly SchemaStep[] {
  const { types } = sql
  const prefix = options.prefix ?? 'sched_'
  const key = `namespace ${types.ascii(32)} NOT NULL`
  const task = `task_name ${types.name(longestTaskName)} NOT NULL`
  return [{
    version: 1,
    statements: [
      lockTableStatement(sql, tables),
      sql.createTable(tables.nodes, `${key}, node_id ${types.ascii(36)} NOT NULL, state ${types.ascii(16)} NOT NULL, lease_until ${types.integer} NOT NULL, started_at ${types.integer} NOT NULL, node_label ${types.name(190)}, revision ${types.integer} NOT NULL, versions ${types.text}, clock_offset_ms ${types.integer}, PRIMARY KEY (namespace, node_id)`),
      sql.createTable(tables.tasks, `${key}, ${task}, definition_hash ${types.ascii(64)} NOT NULL, revision ${types.integer} NOT NULL, defined_by ${types.ascii(36)} NOT NULL, spec ${types.longText} NOT NULL, override_spec ${types.longText}, state ${types.ascii(16)} NOT NULL, state_reason ${types.text}, armed_from ${types.integer} NOT NULL, gate_owner ${types.ascii(64)}, gate_node ${types.ascii(36)}, fencing_token ${types.integer} NOT NULL, PRIMARY KEY (namespace, task_name)`),
      sql.createTable(tables.executions, `${key}, execution_id ${types.ascii(64)} NOT NULL, ${task}, fire_time ${types.integer} NOT NULL, slot_key ${types.ascii(36)} NOT NULL, state ${types.ascii(16)} NOT NULL, origin ${types.ascii(16)} NOT NULL, attempt_reason ${types.ascii(16)}, node_id ${types.ascii(36)}, owner ${types.ascii(64)}, fencing_token ${types.integer}, attempt ${types.integer} NOT NULL, crash_count ${types.integer} NOT NULL, due_at ${types.integer} NOT NULL, created_at ${types.integer} NOT NULL, started_at ${types.integer}, finished_at ${types.integer}, cancel_requested_at ${types.integer}, definition_hash ${types.ascii(64)} NOT NULL, error_code ${types.ascii(64)}, error_text ${types.text}, result_text ${types.longText}, missed_from ${types.integer}, missed_count ${types.integer}, PRIMARY KEY (namespace, execution_id), UNIQUE (namespace, task_name, fire_time, slot_key)`),
      sql.createIndex(`${prefix}executions_state_ix`, tables.executions, 'namespace, state, due_at'),
      sql.createIndex(`${prefix}executions_node_ix`, tables.executions, 'namespace, state, node_id'),
      sql.createIndex(`${prefix}executions_task_ix`, tables.executions, 'namespace, task_name, state, fire_time'),
    ],
  }]
}
