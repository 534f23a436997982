import type { SqlSession, Statement, SqlResult } from '@sched/core/spi'
import type { OracleConnection } from '../connect/oracle-client.ts'
import type { PhysicalSession } from './physical-session.ts'
import { withRowLockLimit, type RowLockWait } from './row-lock-limit.ts'
import { bindStatement } from './statement.ts'

/**
 * A physical session as the core sees it. Oracle has no BEGIN: a transaction begins with its first change, so `begin` only turns
 * autocommit off. https://node-oracledb.readthedocs.io/en/latest/user_guide/txn_management.html
 * With `rowLock` no UPDATE or DELETE waits longer for a row than that; undefined on sessions lent to user code.
 */
export function sqlSession<TClient extends OracleConnection>(
  session: PhysicalSession<TClient>, { id, rowLock }: { readonly id: string; readonly rowLock: RowLockWait | undefined },
): SqlSession<TClient> {
  let inTransaction = false
  const run = async (statement: Statement): Promise<SqlResult> => {
    const limited = rowLock === undefined ? undefined : withRowLockLimit(bindStatement(statement), rowLock)
    if (limited === undefined) return session.run(statement, !inTransaction)
    const { affected } = await session.call(limited, !inTransaction)
    return { rows: [], affected: affected as number }
  }
  return {
    client: session.client,
    id,
    run,
    async begin() { inTransaction = true },
    async commit() {
      await session.commit()
      inTransaction = false
    },
    async rollback() {
      await session.rollback()
      inTransaction = false
    },
    ping: () => session.ping(),
    destroy: () => { session.destroy() },
    onLost: (callback) => { session.onLost(callback) },
  }
}
