import { errorClassOf } from '../session/classified-error.ts'
import { batches } from './batches.ts'
import type { Ledger } from './ledger.ts'
import type { Carrier, TaskRegistration } from './tasks.ts'

// Ten thousand tasks in a hundred statements, each far from its time limit and from any server's number of parameters.
const batch = 100
// Longer ones go by themselves: Oracle binds them as a type that a UNION does not take.
const longestSpec = 1000

/** Inserts definitions that the ledger does not have, a batch a statement. Returns the names of those that this call created. */
export async function createTasks(ledger: Ledger, missing: readonly TaskRegistration[], node: Carrier): Promise<Set<string>> {
  const created = new Set<string>()
  // One order for all instances, so that two that boot together wait for each other instead of deadlocking.
  const ordered = missing.filter(({ spec }) => spec.length <= longestSpec).sort((a, b) => (a.taskName < b.taskName ? -1 : 1))
  for (const tasks of batches(ordered, batch)) {
    for (const taskName of await insertAll(ledger, tasks, node)) created.add(taskName)
  }
  return created
}

/** The names that were inserted: all of them, or none where another instance was faster with one. */
async function insertAll({ tables, sql: { nowMs, dual }, store, namespace }: Ledger, tasks: readonly TaskRegistration[], { revision, nodeId }: Carrier): Promise<readonly string[]> {
  const names = tasks.map(({ taskName }) => taskName)
  const one = `SELECT ? AS task_name, ? AS definition_hash, ? AS spec${dual}`
  try {
    const { affected } = await store.run('registering tasks', {
      // What is not text stands outside the UNION, where its column gives it its type.
      text: `INSERT INTO ${tables.tasks} (namespace, task_name, definition_hash, revision, defined_by, spec, state, armed_from, fencing_token)
 SELECT ?, c.task_name, c.definition_hash, ?, ?, c.spec, 'active', ${nowMs}, ${nowMs} FROM (${tasks.map(() => one).join(' UNION ALL ')}) c
 WHERE NOT EXISTS (SELECT 1 FROM ${tables.tasks} WHERE namespace = ? AND task_name IN (${tasks.map(() => '?').join(', ')}))`,
      params: [namespace, revision, nodeId, ...tasks.flatMap(({ taskName, definitionHash, spec }) => [taskName, definitionHash(null), spec]), namespace, ...names],
    })
    if (affected === tasks.length) return names
  } catch (error) {
    // Inserted by another instance between this statement's look and its insert.
    if (errorClassOf(error) !== 'duplicate-key') throw error
    return []
  }
  // Nothing was inserted, or it was and the answer was lost.
  const { rows } = await store.run('reading tasks back', { text: `SELECT task_name FROM ${tables.tasks} WHERE namespace = ? AND defined_by = ?`, params: [namespace, nodeId] })
  const mine = new Set(rows.map((row) => row['task_name'] as string))
  return names.filter((name) => mine.has(name))
}
