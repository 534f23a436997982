import { errorClassOf } from '../session/classified-error.ts'
import type { SlotInsert } from '../spi/store-dialect.ts'
import type { Statement } from '../spi/sql-session.ts'
import { slotColumns } from './execution-row.ts'
import type { Ledger } from './ledger.ts'

/** `taken`: another node has this fire time. `ineligible`: the task is not active, another definition rules, or the claim window is shut. */
export type SlotOutcome = { readonly status: 'won' } | { readonly status: 'taken' } | { readonly status: 'ineligible'; readonly dbNow: number }

/**
 * Statement N: one insert that owns a fire time, guarded by the task's state and definition and by the database's clock, so that
 * a node with a wrong clock can neither run early nor poison the ledger. A loser ends here, after one statement. A lost answer is
 * asked for by repeating it with the same id.
 */
export async function insertSlot(ledger: Ledger, slot: Omit<SlotInsert, 'namespace'>): Promise<SlotOutcome> {
  const full: SlotInsert = { ...slot, namespace: ledger.namespace }
  const insert = (): Promise<SlotOutcome> => {
    const override = ledger.overrides.slot?.(ledger.tables, full)
    return override === undefined ? insertPortably(ledger, full) : insertAtOnce(ledger, override)
  }
  try {
    return await insert()
  } catch (error) {
    if (errorClassOf(error) !== 'connection-lost') throw error
  }
  const outcome = await insert()
  return outcome.status === 'taken' && await isMine(ledger, full) ? { status: 'won' } : outcome
}

async function insertAtOnce(ledger: Ledger, statement: Statement): Promise<SlotOutcome> {
  const { rows: [row] } = await ledger.store.run('claiming a slot', statement)
  if (row?.['won'] === 1) return { status: 'won' }
  return row?.['eligible'] === 1 ? { status: 'taken' } : { status: 'ineligible', dbNow: row?.['db_now'] as number }
}

async function insertPortably(ledger: Ledger, slot: SlotInsert): Promise<SlotOutcome> {
  try {
    const { affected } = await ledger.store.run('claiming a slot', slotStatement(ledger, slot))
    if (affected === 1) return { status: 'won' }
  } catch (error) {
    if (errorClassOf(error) === 'duplicate-key') return { status: 'taken' }
    throw error
  }
  const { sql } = ledger
  const { rows: [row] } = await ledger.store.run('reading the clock', { text: `SELECT ${sql.nowMs} AS db_now${sql.dual}`, params: [] })
  return { status: 'ineligible', dbNow: row?.['db_now'] as number }
}

/** The portable text of statement N. A losing insert is a duplicate key; guards that do not hold insert nothing. */
function slotStatement({ tables, sql }: Ledger, slot: SlotInsert): Statement {
  return {
    text: `INSERT INTO ${tables.executions} (${slotColumns})
 SELECT namespace, ?, task_name, ?, 'cron', 'pending', 'scheduled', 0, 0, ?, ${sql.nowMs}, definition_hash FROM ${tables.tasks}
 WHERE namespace = ? AND task_name = ? AND state = 'active' AND definition_hash = ? AND armed_from < ? AND ? BETWEEN ${sql.nowMs} - ? AND ${sql.nowMs} + ?`,
    params: [slot.executionId, slot.fireTime, slot.dueAt, slot.namespace, slot.taskName, slot.definitionHash, slot.fireTime, slot.fireTime, slot.maxClaimAgeMs, slot.toleranceMs],
  }
}

/** The insert whose answer was lost was done. */
async function isMine({ tables, store, namespace }: Ledger, slot: SlotInsert): Promise<boolean> {
  const { rows } = await store.run('reading a slot back', {
    text: `SELECT execution_id FROM ${tables.executions} WHERE namespace = ? AND execution_id = ?`, params: [namespace, slot.executionId],
  })
  return rows.length === 1
}

/** A slot that did not run says why: pending → skipped, or missed. False when it has moved on meanwhile. */
export async function skipSlot({ tables, sql, store, namespace }: Ledger, executionId: string, reason: { code: string; text: string }, state: 'skipped' | 'missed' = 'skipped'): Promise<boolean> {
  const { affected } = await store.run(`recording a ${state} slot`, {
    text: `UPDATE ${tables.executions} SET state = '${state}', finished_at = ${sql.nowMs}, error_code = ?, error_text = ? WHERE namespace = ? AND execution_id = ? AND state = 'pending'`,
    params: [reason.code, reason.text, namespace, executionId],
  })
  return affected === 1
}
