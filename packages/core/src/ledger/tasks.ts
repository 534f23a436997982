import { randomUUID } from 'node:crypto'
import { errorClassOf } from '../session/classified-error.ts'
import type { SqlRow, SqlSession, Statement } from '../spi/sql-session.ts'
import { createTasks } from './create-tasks.ts'
import type { Ledger } from './ledger.ts'
import { putMeta } from './migrate.ts'
import { redefine } from './redefine.ts'
import { retireRemoved } from './retire.ts'
import { highestRevision, raiseRevisions } from './revisions.ts'
import { lockTask, type ScheduleReader } from './stored-task.ts'
import { lookingAgain } from './write-off.ts'

export interface TaskRegistration {
  readonly taskName: string
  /** The hash of the effective definition, given the override in the ledger. */
  readonly definitionHash: (override: string | null) => string
  /** The definition as JSON: what other nodes need to know of a task whose code they do not have. */
  readonly spec: string
  /** What becomes of the fire times of a definition that this one replaces depends on its schedule. */
  readonly readSchedule: ScheduleReader
}

/** A node, as a carrier of definitions. */
export interface Carrier {
  readonly nodeId: string
  readonly revision: number
  /** A later life of a node that has registered before: no later boot. */
  readonly again?: boolean
}

export interface TaskRow {
  readonly taskName: string
  readonly definitionHash: string
  readonly revision: number
  readonly state: 'active' | 'paused' | 'stalled' | 'retired'
  readonly stateReason: string | null
  readonly armedFrom: number
  /** A schedule set at run time, as JSON; it survives deployments until it is cleared. */
  readonly override: string | null
}

/** With what only a person asks for: thousands of rows are read without it. */
export interface TaskWithSpec extends TaskRow { readonly spec: string }

/** `superseded`: a higher revision rules, carried by a live node; this one does not claim. */
export type RegistrationOutcome = 'current' | 'created' | 'replaced' | 'superseded'

export async function readTasks({ tables, store, namespace }: Ledger): Promise<Map<string, TaskRow>> {
  const { rows } = await store.run('reading the tasks', {
    text: `SELECT ${taskColumns} FROM ${tables.tasks} WHERE namespace = ?`, params: [namespace],
  })
  return new Map(rows.map((row) => [row['task_name'] as string, toTaskRow(row)]))
}

export async function readTask({ tables, store, namespace }: Ledger, taskName: string): Promise<TaskWithSpec | undefined> {
  const { rows: [row] } = await store.run('reading a task', {
    text: `SELECT ${taskColumns}, spec FROM ${tables.tasks} WHERE namespace = ? AND task_name = ?`, params: [namespace, taskName],
  })
  return row === undefined ? undefined : { ...toTaskRow(row), spec: row['spec'] as string }
}

const taskColumns = 'task_name, definition_hash, revision, state, state_reason, armed_from, override_spec'

function toTaskRow(row: SqlRow): TaskRow {
  return {
    taskName: row['task_name'] as string, definitionHash: row['definition_hash'] as string, revision: row['revision'] as number, state: row['state'] as TaskRow['state'],
    stateReason: row['state_reason'] as string | null, armedFrom: row['armed_from'] as number, override: row['override_spec'] as string | null,
  }
}

/**
 * Stores the definitions of this boot. A hash has no order: the higher `revision` rules, else the later boot; what no live node carries
 * any more is replaced, tombstones too. A new task, or one with a changed schedule, has missed nothing before now (`armed_from`).
 */
export async function registerTasks(ledger: Ledger, tasks: readonly TaskRegistration[], node: Carrier): Promise<Map<string, RegistrationOutcome>> {
  await touchRegistry(ledger, 'create')
  let stored = await readTasks(ledger)
  const missing = tasks.filter(({ taskName }) => !stored.has(taskName))
  const created = await createTasks(ledger, missing, node)
  if (created.size < missing.length) stored = await readTasks(ledger)
  const outcomes = new Map<string, RegistrationOutcome>()
  const outranked = [...stored.values()].some((row) => outranks(row, node))
  const ruling = outranked ? await highestRevision(ledger, node) : -1
  const raised: TaskRow[] = []
  for (const task of tasks) {
    const { taskName } = task
    const row = stored.get(taskName)
    // Most of a large schedule is known without a statement: unchanged, or another's.
    if (created.has(taskName)) outcomes.set(taskName, 'created')
    else if (row !== undefined && row.state !== 'retired' && row.definitionHash === task.definitionHash(row.override)) {
      if (row.revision < node.revision) raised.push(row)
      outcomes.set(taskName, 'current')
    } else if (row !== undefined && outranks(row, node) && ruling >= row.revision) outcomes.set(taskName, 'superseded')
    else outcomes.set(taskName, await registerTask(ledger, task, node))
  }
  await raiseRevisions(ledger, raised, node)
  const retired = await retireRemoved(ledger, stored, new Set(outcomes.keys()), node)
  if (retired.length > 0 || [...outcomes.values()].includes('created')) await touchRegistry(ledger, 'change')
  return outcomes
}

/** Whether the row rules over this node's definition as long as a live node of its revision stands behind it. */
function outranks(row: Pick<TaskRow, 'revision' | 'state'>, node: Carrier): boolean {
  if (node.revision < row.revision) return true
  return node.revision === row.revision && (row.state === 'retired' || node.again === true)
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
  return lookingAgain(() => store.block('changing a task', async (sql) => {
    const value = await changeTask(ledger, task, node, sql)
    return { commit: true, value }
  }))
}

async function changeTask(ledger: Ledger, task: TaskRegistration, node: Carrier, sql: SqlSession): Promise<RegistrationOutcome> {
  const { tables, namespace } = ledger
  const row = await lockTask(ledger, task.taskName, sql)
  // Deleted a moment ago, behind the ledger's back: the next reload finds it missing.
  if (row === undefined) return 'superseded'
  if (row.definitionHash === task.definitionHash(row.override) && row.state !== 'retired') {
    if (node.revision > row.revision) await sql.run({ text: `UPDATE ${tables.tasks} SET revision = ? WHERE namespace = ? AND task_name = ?`, params: [node.revision, namespace, task.taskName] })
    return 'current'
  }
  // A tombstone too gives way when no live node of its revision is left: the deployment that set it was rolled back.
  if (outranks(row, node) && await highestRevision(ledger, node, sql) >= row.revision) return 'superseded'
  await redefine(ledger, row, task, node, sql)
  await sql.run(registryChange(ledger))
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
