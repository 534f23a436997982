import type { Ledger } from './ledger.ts'
import { aroundLocked, unlessLocked } from './locked-rows.ts'
import { redefine } from './redefine.ts'
import { highestRevision } from './revisions.ts'
import { lockTask } from './stored-task.ts'
import { registryChange, type Carrier, type TaskRegistration } from './tasks.ts'
import { lookingAgain } from './write-off.ts'

/** A definition or a tombstone in the ledger whose carrier is not alive. */
export interface Uncarried {
  readonly taskName: string
  readonly definitionHash: string
  readonly definedBy: string
  readonly revision: number
  readonly retired: boolean
  readonly override: string | null
}

export async function uncarriedTasks({ tables, sql: { readHint }, store, namespace }: Ledger): Promise<Uncarried[]> {
  const { rows } = await store.run('looking for definitions without a carrier', {
    text: `SELECT t.task_name, t.definition_hash, t.defined_by, t.revision, t.state, t.override_spec FROM ${tables.tasks} t${readHint} WHERE t.namespace = ?
 AND NOT EXISTS (SELECT 1 FROM ${tables.nodes} n${readHint} WHERE n.namespace = t.namespace AND n.node_id = t.defined_by AND n.state = 'alive')`,
    params: [namespace],
  })
  return rows.map((row) => ({
    taskName: row['task_name'] as string, definitionHash: row['definition_hash'] as string, definedBy: row['defined_by'] as string, revision: row['revision'] as number, retired: row['state'] === 'retired',
    override: row['override_spec'] as string | null,
  }))
}

/**
 * This node carries the same definitions, or agrees that the tasks are gone: it says so in the dead carrier's place, so that nobody
 * replaces them. A row that somebody holds is left to the next heartbeat.
 */
export async function carryOn({ tables, store, namespace }: Ledger, found: readonly Uncarried[], node: Carrier): Promise<void> {
  for (const [definedBy, tasks] of Map.groupBy(found, (task) => task.definedBy)) {
    await aroundLocked(tasks, (some) => store.run('carrying definitions on', {
      text: `UPDATE ${tables.tasks} SET defined_by = ? WHERE namespace = ? AND defined_by = ? AND (${some.map(() => '(task_name = ? AND definition_hash = ?)').join(' OR ')})`,
      params: [node.nodeId, namespace, definedBy, ...some.flatMap(({ taskName, definitionHash }) => [taskName, definitionHash])],
    }, { answer: 'lock-timeout' }))
  }
}

/**
 * A definition that no live node carries would silence its task: a canary that registered and died, a deployment that was rolled back;
 * so would its tombstone. It gives way to the definition of this node. False when somebody was faster or holds the row, or when a live
 * node of its revision stands behind the tombstone or the newer definition.
 */
export async function replaceUncarried(ledger: Ledger, found: Uncarried, task: TaskRegistration, node: Carrier): Promise<boolean> {
  const outcome = await unlessLocked(() => lookingAgain(() => ledger.store.block('replacing a definition that nobody carries', async (sql) => {
    const stored = await lockTask(ledger, found.taskName, sql)
    const same = stored?.definitionHash === found.definitionHash && stored.definedBy === found.definedBy && (stored.state === 'retired') === found.retired
    if (!same) return { commit: false, value: false }
    const newer = found.retired || node.revision < stored.revision
    if (newer && await highestRevision(ledger, node, sql) >= stored.revision) return { commit: false, value: false }
    await redefine(ledger, stored, task, node, sql)
    await sql.run(registryChange(ledger))
    return { commit: true, value: true }
  }, { answer: 'lock-timeout' })))
  return outcome === true
}
