import type { SessionOptions } from '@sched/core/spi'
import { contextInfo } from './session-label.ts'

// Sent as a batch: what sp_executesql sets is undone when it returns. https://learn.microsoft.com/sql/t-sql/statements/set-statements-transact-sql
// Any login may set these. They are set whatever the database's and the server's defaults are (`user options`), and on a connection of a
// pool whatever somebody else has left.
const ansi: readonly string[] = [
  'ANSI_NULLS ON', 'ANSI_PADDING ON', 'ANSI_WARNINGS ON', 'ARITHABORT ON', 'CONCAT_NULL_YIELDS_NULL ON', 'QUOTED_IDENTIFIER ON', 'NUMERIC_ROUNDABORT OFF',
  'ANSI_NULL_DFLT_ON ON', 'IMPLICIT_TRANSACTIONS OFF', 'NOCOUNT OFF',
]

/** The longest a session may wait for a lock on a row: -1 would be for ever, and is the default. https://learn.microsoft.com/sql/t-sql/statements/set-lock-timeout-transact-sql */
function lockTimeout(rowLockMs: number): string { return `LOCK_TIMEOUT ${Math.min(Math.max(1, Math.ceil(rowLockMs)), 2_147_483_647)}` }

/** Sessions of ours alone. */
export function ledgerSettings({ rowLockMs }: Pick<SessionOptions, 'rowLockMs'>): readonly string[] {
  return [
    ...ansi,
    'TRANSACTION ISOLATION LEVEL READ COMMITTED', // https://learn.microsoft.com/sql/t-sql/statements/set-transaction-isolation-level-transact-sql
    'XACT_ABORT ON', // an error rolls the whole transaction back: no half of one can be committed. https://learn.microsoft.com/sql/t-sql/statements/set-xact-abort-transact-sql
    lockTimeout(rowLockMs),
  ]
}

/** Sessions lent to user code: isolation and limits are the user's. SQL Server has no limit for an idle transaction that could be set. */
export const lentSettings: readonly string[] = []

/**
 * Sets them and answers the session's id, and whether a transaction is open on it already (a connection of a pool). `label` is for
 * sessions that have not said it when they logged in.
 */
export function settingsBatch(settings: readonly string[], label: string | undefined): string {
  const sets = [...settings, ...(label === undefined ? [] : ['ROWCOUNT 0', `CONTEXT_INFO 0x${contextInfo(label)}`])].map((setting) => `SET ${setting};`)
  return [...sets, 'SELECT @@SPID AS session_id, @@TRANCOUNT AS open_transactions;'].join('\n')
}
