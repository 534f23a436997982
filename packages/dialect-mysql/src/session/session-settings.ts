import type { Statement } from '@sched/core/spi'
import type { Setting } from './session-limits.ts'

/** Sets them all, each for this session alone. https://dev.mysql.com/doc/refman/9.7/en/set-variable.html */
export function settingsStatement(settings: readonly Setting[]): Statement {
  return {
    text: `SET ${settings.map(({ name }) => `${name.startsWith('@') ? name : `SESSION ${name}`} = ?`).join(', ')}`,
    params: settings.map(({ value }) => value),
  }
}

/**
 * For the session, not for the next transaction alone. Under REPEATABLE READ, the default, gap locks make inserts of others wait.
 * https://dev.mysql.com/doc/refman/9.7/en/set-transaction.html (the variable has two names, depending on product and version)
 */
export const readCommitted = 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED'

/** Values arrive as UTF-8, whatever character set the pool has chosen. https://dev.mysql.com/doc/refman/9.7/en/set-names.html */
export const unicode = 'SET NAMES utf8mb4'
