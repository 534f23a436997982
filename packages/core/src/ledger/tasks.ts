import { randomUUID } from 'node:crypto'
import { errorClassOf } from '../session/classified-error.ts'
import type { SqlRow, SqlSession, Statement } from '../spi/sql-session.ts'
import type { Ledger } from './ledger.ts'
import { putMeta } from './migrate.ts'
import { retireRemoved } from './retire.ts'

export interface TaskRegistration {
  readonly taskName: string
  /** The hash of the effective definition, given the override in the ledger. */
  readonly definitionHash: (override: string | null) => string
  /** The definition as JSON: what other nodes need to know of a task whose code they do not have. */
  readonly spec: string
}

/** A node, as a carrier of definitions. */
export interface Carrier { readonly nodeId: string; readonly revision: number }

export interface TaskRow {
  readonly taskName: string
  readonly definitionHash: string
  readonly revision: number
  readonly state: 'active' | 'paused' | 'stalled' | 'retired'
  readonly stateReason: string | null
  readonly armedFrom: number
  readonly spec: string
  /** A schedule set at run time, as JSON; it survives deployments until it is cleared. */
  readonly override: string | null
}

/** `superseded`: a higher revision rules, carried by a live node; this one does not claim. */
export type RegistrationOutcome = 'current' | 'created' | 'replaced' | 'superseded'

export async function readTasks({ tables, store, namespace }: Ledger): Promise<Map<string, TaskRow>> {
  const { rows } = await store.run('reading the tasks', {
    text: `SELECT ${taskColumns} FROM ${tables.tasks} WHERE namespace = ?`, params: [namespace],
  })
  return new Map(rows.map((row) => [row['task_name'] as string, toTaskRow(row)]))
}

export async function readTask({ tables, store, namespace }: Ledger, taskName: string): Promise<TaskRow | undefined> {
  const { rows: [row] } = await store.run('reading a task', {
    text: `SELECT ${taskColumns} FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`, params: [namespace, taskName],
  })
  return row === undefined ? undefined : toTaskRow(row)
}

const taskColumns = 'task_name, definition_hash, revision, state, state_reason, armed_from, spec, override_spec'

function toTaskRow(row: SqlRow): TaskRow {
  return {
    taskName: row['task_name'] as string, definitionHash: row['definition_hash'] as string, revision: row['revision'] as number, state: row['state'] as TaskRow['state'],
    stateReason: row['state_reason'] as string | null, armedFrom: row['armed_from'] as number, spec: row['spec'] as string, override: row['override_spec'] as string | null,
  }
}

/**
 * Stores the definitions of this boot. A hash has no order: the higher `revision` rules, else the later boot; a stored revision
 * that no live node carries any more is replaced. A new or changed task has missed nothing before now (`armed_from`).
 */
export async function registerTasks(ledger: Ledger, tasks: readonly TaskRegistration[], node: Carrier): Promise<Map<string, RegistrationOutcome>> {
  await touchRegistry(ledger, 'create')
  const stored = await readTasks(ledger)
  const outcomes = new Map<string, RegistrationOutcome>()
  for (const task of tasks) {
    const row = stored.get(task.taskName)
    const same = row !== undefined && row.state !== 'retired' && row.definitionHash === task.definitionHash(row.override) && row.revision >= node.revision
    outcomes.set(task.taskName, same ? 'current' : await registerTask(ledger, task, node))
  }
  const retired = await retireRemoved(ledger, stored, new Set(outcomes.keys()), node)
  if (retired.length > 0 || [...outcomes.values()].some((outcome) => outcome === 'created' || outcome === 'replaced')) await touchRegistry(ledger, 'change')
  return outcomes
}

async function registerTask(ledger: Ledger, task: TaskRegistration, node: Carrier): Promise<RegistrationOutcome> {
  const { tables, sql: { nowMs, dual }, store, namespace } = ledger
  try {
    const { affected } = await store.run('registering a task', {
      text: `INSERT INTO ${tables.tasks} (namespace, task_name, definition_hash, revision, defined_by, spec, state, armed_from, fencing_token)
 SELECT ?, ?, ?, ?, ?, ?, 'active', ${nowMs}, ${nowMs}${dual} WHERE NOT EXISTS (SELECT 1 FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?)`,
      params: [namespace, task.taskName, task.definitionHash(null), node.revision, node.nodeId, task.spec, namespace, task.taskName],
    })
    if (affected === 1) return 'created'
  } catch (error) {
    if (errorClassOf(error) !== 'duplicate-key') throw error
  }
  return store.block('changing a task', async (sql) => {
    const value = await changeTask(ledger, task, node, sql)
    return { commit: true, value }
  })
}

async function changeTask(ledger: Ledger, task: TaskRegistration, node: Carrier, sql: SqlSession): Promise<RegistrationOutcome> {
  const { tables, sql: { nowMs, lockRow, lockHint = '' }, namespace } = ledger
  const { rows: [row] } = await sql.run({ text: `SELECT definition_hash, revision, state, override_spec FROM ${tables.tasks}${lockHint} WHERE namespace = ? AND task_name = ?${lockRow}`, params: [namespace, task.taskName] })
  const revision = row?.['revision'] as number
  const key = [namespace, task.taskName]
  const definitionHash = task.definitionHash(row?.['override_spec'] as string | null)
  // A tombstone is lifted by a higher revision only: the one that set it does not have the task.
  if (row?.['state'] === 'retired' && node.revision <= revision) return 'superseded'
  if (row?.['definition_hash'] === definitionHash && row['state'] !== 'retired') {
    if (node.revision > revision) await sql.run({ text: `UPDATE ${tables.tasks} SET revision = ? WHERE namespace = ? AND task_name = ?`, params: [node.revision, ...key] })
    return 'current'
  }
  if (node.revision < revision) {
    const { rows } = await sql.run({
      text: `SELECT node_id FROM ${tables.nodes} WHERE namespace = ? AND state = 'alive' AND lease_until > ${nowMs} AND revision >= ? AND node_id <> ?`, params: [namespace, revision, node.nodeId],
    })
    if (rows.length > 0) return 'superseded'
  }
  await sql.run({
    text: `UPDATE ${tables.tasks} SET definition_hash = ?, spec = ?, revision = ?, defined_by = ?, armed_from = ${nowMs}, state = CASE WHEN state = 'retired' THEN 'active' ELSE state END WHERE namespace = ? AND task_name = ?`,
    params: [definitionHash, task.spec, node.revision, node.nodeId, ...key],
  })
  return 'replaced'
}

/** For changes that go with it in one transaction: the row is there since the first registration. */
export function registryChange({ tables, namespace }: Pick<Ledger, 'tables' | 'namespace'>): Statement {
  return { text: `UPDATE ${tables.meta} SET meta_value = ? WHERE namespace = ? AND meta_key = 'registry'`, params: [randomUUID(), namespace] }
}

/** Every change of a definition or a state gives the registry a new value; heartbeats carry it to all nodes. */
export async function touchRegistry({ store, tables, namespace }: Ledger, why: 'create' | 'change'): Promise<void> {
  if (why === 'create') {
    const { rows } = await store.run('reading the registry', { text: `SELECT meta_value FROM ${tables.meta} WHERE namespace = ? AND meta_key = 'registry'`, params: [namespace] })
    if (rows.length > 0) return
  }
  await putMeta(store, tables, namespace, 'registry', randomUUID())
}
