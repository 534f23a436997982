import type { PlSqlBlock } from './plsql.ts'
import type { BoundStatement } from './statement.ts'

// Oracle has no setting for how long an UPDATE waits for a row: it waits until the holder's transaction ends, which a frozen process
// never does. Only SELECT … FOR UPDATE takes a limit, in whole seconds, written into its text:
// https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/SELECT.html (for_update_clause)

/** `nowait`, or whole seconds. */
export type RowLockWait = 'nowait' | number

/**
 * What stands for a limit in milliseconds. The shortest wait is a second; below it a row that is locked for the moment of a commit
 * would be called busy, so a second is taken where the statement's own limit leaves room for it.
 */
export function rowLockWait({ rowLockMs, statementMs }: { readonly rowLockMs: number; readonly statementMs: number }): RowLockWait {
  const seconds = Math.max(1, Math.floor(rowLockMs / 1_000))
  return seconds * 1_000 + 250 <= statementMs ? seconds : 'nowait'
}

/**
 * An UPDATE or DELETE in a block that locks its rows first, within the limit, in one round trip; undefined for anything else. ORA-30006
 * (or ORA-00054) leaves nothing behind: a block that fails is undone as a whole, its row locks with it
 * (https://docs.oracle.com/en/database/oracle/oracle-database/23/cncpt/transactions.html, statement-level rollback).
 * A row that begins to match between the two statements is waited for without the limit; the limit of the call bounds that.
 */
export function withRowLockLimit({ text, binds }: BoundStatement, wait: RowLockWait): PlSqlBlock | undefined {
  const table = /^(?:UPDATE|DELETE FROM) (\S+) /.exec(text)?.[1]
  const where = table === undefined ? -1 : outerWhere(text)
  if (where < 0) return undefined
  return {
    text: `DECLARE
  CURSOR target IS SELECT 1 FROM ${table} ${text.slice(where)} FOR UPDATE ${wait === 'nowait' ? 'NOWAIT' : `WAIT ${wait}`};
BEGIN
  OPEN target;
  CLOSE target;
  ${text};
  :affected := SQL%ROWCOUNT;
END;`,
    binds,
    out: { affected: 'number' },
  }
}

/** Where the statement's own WHERE begins: not one inside parentheses or a literal. */
function outerWhere(text: string): number {
  let depth = 0
  for (const { 0: token, index } of text.matchAll(/'(?:[^']|'')*'|"[^"]*"|[()]|\bWHERE\b/g)) {
    if (token === '(') depth += 1
    else if (token === ')') depth -= 1
    else if (token === 'WHERE' && depth === 0) return index
  }
  return -1
}
