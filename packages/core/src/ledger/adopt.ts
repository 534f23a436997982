import type { Ledger } from './ledger.ts'
import { touchRegistry, type Carrier, type TaskRegistration } from './tasks.ts'

/** A definition in the ledger whose carrier is not alive. */
export interface Uncarried { readonly taskName: string; readonly definitionHash: string; readonly definedBy: string; readonly override: string | null }

export async function uncarriedTasks({ tables, sql: { readHint }, store, namespace }: Ledger): Promise<Uncarried[]> {
  const { rows } = await store.run('looking for definitions without a carrier', {
    text: `SELECT t.task_name, t.definition_hash, t.defined_by, t.override_spec FROM ${tables.tasks} t${readHint} WHERE t.namespace = ? AND t.state <> 'retired'
 AND NOT EXISTS (SELECT 1 FROM ${tables.nodes} n${readHint} WHERE n.namespace = t.namespace AND n.node_id = t.defined_by AND n.state = 'alive')`,
    params: [namespace],
  })
  return rows.map((row) => ({ taskName: row['task_name'] as string, definitionHash: row['definition_hash'] as string, definedBy: row['defined_by'] as string, override: row['override_spec'] as string | null }))
}

/** This node carries the same definition: it says so in the dead carrier's place, so that nobody replaces it. */
export async function carryOn({ tables, store, namespace }: Ledger, task: Uncarried, node: Carrier): Promise<void> {
  await store.run('carrying a definition on', {
    text: `UPDATE ${tables.tasks} SET defined_by = ? WHERE namespace = ? AND task_name = ? AND definition_hash = ? AND defined_by = ?`,
    params: [node.nodeId, namespace, task.taskName, task.definitionHash, task.definedBy],
  })
}

/**
 * A definition that no live node carries would silence its task: a canary that registered and died, a deployment that was rolled back.
 * It gives way to the one of this node. False when somebody was faster.
 */
export async function replaceUncarried(ledger: Ledger, found: Uncarried, task: TaskRegistration, node: Carrier): Promise<boolean> {
  const { tables, sql: { nowMs }, store, namespace } = ledger
  const { affected } = await store.run('replacing a definition that nobody carries', {
    text: `UPDATE ${tables.tasks} SET definition_hash = ?, spec = ?, revision = ?, defined_by = ?, armed_from = ${nowMs} WHERE namespace = ? AND task_name = ? AND definition_hash = ? AND defined_by = ?`,
    params: [task.definitionHash(found.override), task.spec, node.revision, node.nodeId, namespace, found.taskName, found.definitionHash, found.definedBy],
  })
  if (affected === 1) await touchRegistry(ledger, 'change')
  return affected === 1
}
