import type { MemoryDatabase } from '../../src/testing/index.ts'

/** A change that was committed, in the order of the commits. */
export interface Change {
  readonly seq: number
  /** The world's time. */
  readonly at: number
  readonly kind: 'task' | 'row' | 'execution' | 'gate' | 'node' | 'revived' | 'removed'
  readonly subject: string
  readonly fireTime: number | null
  readonly before: string | null
  readonly after: string | null
  readonly ownerBefore: string | null
  readonly ownerAfter: string | null
  readonly tokenBefore: number | null
  readonly tokenAfter: number | null
  readonly node: string | null
  readonly reason: string | null
}

const columns = 'kind, at, subject, fire_time, before_state, after_state, before_owner, after_owner, before_token, after_token, node, reason'

/** Triggers of the database itself, so that what a transaction did is seen when it commits, and only then. */
const statements: readonly string[] = [
  `CREATE TABLE audit (seq INTEGER PRIMARY KEY, kind TEXT, at INTEGER, subject TEXT, fire_time INTEGER, before_state TEXT, after_state TEXT, before_owner TEXT, after_owner TEXT, before_token INTEGER, after_token INTEGER, node TEXT, reason TEXT)`,
  `CREATE TABLE effects (execution_id TEXT NOT NULL, owner TEXT NOT NULL, token INTEGER NOT NULL)`,
  `CREATE TRIGGER audit_task AFTER INSERT ON sched_tasks BEGIN INSERT INTO audit (${columns}) VALUES ('task', world_now_ms(), NEW.task_name, NEW.armed_from, NULL, NEW.state, NULL, NULL, NULL, NEW.fencing_token, NEW.defined_by, NULL); END`,
  `CREATE TRIGGER audit_row AFTER INSERT ON sched_executions BEGIN INSERT INTO audit (${columns}) VALUES ('row', world_now_ms(), NEW.execution_id, NEW.fire_time, NULL, NEW.state, NULL, NEW.owner, NULL, NEW.fencing_token, NEW.node_id, NEW.origin); END`,
  `CREATE TRIGGER audit_removed AFTER DELETE ON sched_executions BEGIN INSERT INTO audit (${columns}) VALUES ('removed', world_now_ms(), OLD.execution_id, OLD.fire_time, OLD.state, NULL, OLD.owner, NULL, OLD.fencing_token, NULL, OLD.node_id, NULL); END`,
  `CREATE TRIGGER audit_execution AFTER UPDATE ON sched_executions WHEN OLD.state <> NEW.state OR OLD.owner IS NOT NEW.owner OR OLD.fencing_token IS NOT NEW.fencing_token
 BEGIN INSERT INTO audit (${columns}) VALUES ('execution', world_now_ms(), NEW.execution_id, NEW.fire_time, OLD.state, NEW.state, OLD.owner, NEW.owner, OLD.fencing_token, NEW.fencing_token, OLD.node_id, NEW.attempt_reason); END`,
  `CREATE TRIGGER audit_gate AFTER UPDATE ON sched_tasks WHEN OLD.gate_owner IS NOT NEW.gate_owner OR OLD.fencing_token <> NEW.fencing_token
 BEGIN INSERT INTO audit (${columns}) VALUES ('gate', world_now_ms(), NEW.task_name, NULL, OLD.state, NEW.state, OLD.gate_owner, NEW.gate_owner, OLD.fencing_token, NEW.fencing_token, OLD.gate_node, NULL); END`,
  `CREATE TRIGGER audit_node AFTER UPDATE OF state ON sched_nodes WHEN OLD.state <> NEW.state BEGIN INSERT INTO audit (${columns}) VALUES ('node', world_now_ms(), NEW.node_id, NULL, OLD.state, NEW.state, NULL, NULL, OLD.lease_until, NEW.lease_until, NULL, NULL); END`,
  `CREATE TRIGGER audit_revived AFTER UPDATE OF lease_until ON sched_nodes WHEN OLD.state <> 'alive' OR OLD.lease_until <= database_now_ms()
 BEGIN INSERT INTO audit (${columns}) VALUES ('revived', world_now_ms(), NEW.node_id, NULL, OLD.state, NEW.state, NULL, NULL, OLD.lease_until, NEW.lease_until, NULL, NULL); END`,
]

export function installAudit(database: MemoryDatabase): void {
  for (const statement of statements) database.query(statement)
}

export function readAudit(database: MemoryDatabase): readonly Change[] {
  return database.query(`SELECT seq, ${columns} FROM audit ORDER BY seq`).map((row) => ({
    seq: row['seq'] as number, at: row['at'] as number, kind: row['kind'] as Change['kind'], subject: row['subject'] as string, fireTime: row['fire_time'] as number | null,
    before: row['before_state'] as string | null, after: row['after_state'] as string | null, ownerBefore: row['before_owner'] as string | null, ownerAfter: row['after_owner'] as string | null,
    tokenBefore: row['before_token'] as number | null, tokenAfter: row['after_token'] as number | null, node: row['node'] as string | null, reason: row['reason'] as string | null,
  }))
}

/** What tasks wrote by `ctx.transaction`. */
export function readEffects(database: MemoryDatabase): readonly { readonly executionId: string; readonly owner: string }[] {
  return database.query('SELECT execution_id, owner FROM effects ORDER BY rowid').map((row) => ({ executionId: row['execution_id'] as string, owner: row['owner'] as string }))
}
