import type { Ledger } from './ledger.ts'

/**
 * Subqueries for the fire time of a task's newest or oldest slot, null without one; parameters: namespace, task, and with `upTo` the latest
 * fire time that counts. MIN and MAX would read every execution of the task, the order ends at the first row of the index. `readHint`: for a
 * look that must not wait for writers, and decides nothing.
 */
export function newestSlot(ledger: Pick<Ledger, 'tables' | 'sql'>, { upTo = false, readHint = '' }: { upTo?: boolean; readHint?: string } = {}): string {
  return outermostSlot(ledger, readHint, upTo ? ' AND n.fire_time <= ?' : '', ' DESC')
}

export function oldestSlot(ledger: Pick<Ledger, 'tables' | 'sql'>, { readHint = '' }: { readHint?: string } = {}): string { return outermostSlot(ledger, readHint, '', '') }

function outermostSlot({ tables, sql }: Pick<Ledger, 'tables' | 'sql'>, readHint: string, only: string, direction: '' | ' DESC'): string {
  return `SELECT n.fire_time FROM ${tables.executions} n${readHint} WHERE n.namespace = ? AND n.task_name = ? AND n.slot_key = 'cron'${only} ORDER BY n.fire_time${direction}${sql.limit(1)}`
}
