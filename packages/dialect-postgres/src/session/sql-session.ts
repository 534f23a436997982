import { SchedError, type SqlSession } from '@sched/core/spi'
import type { PgClient } from '../connect/pg-client.ts'
import type { PhysicalSession } from './physical-session.ts'

export interface SqlSessionOptions {
  /** pg_backend_pid(); none behind a transaction pooler. */
  readonly id: number | undefined
  /** What begins a transaction: BEGIN, and what is to be set for it. https://www.postgresql.org/docs/current/sql-begin.html */
  readonly begin: string
}

/** A physical session as the core sees it. */
export function sqlSession<TClient extends PgClient>(session: PhysicalSession<TClient>, { id, begin }: SqlSessionOptions): SqlSession<TClient> {
  return {
    client: session.client,
    ...(id === undefined ? {} : { id }),
    run: (statement) => session.run(statement),
    async begin() { await session.command(begin) },
    async commit() {
      const tag = await session.command('COMMIT')
      if (tag === 'COMMIT') return
      // The server ends a failed transaction on COMMIT, but by rolling it back, and says so only in the tag:
      // https://www.postgresql.org/docs/current/sql-commit.html
      throw new SchedError('SCHED_CONTENDED', `COMMIT was answered with ${tag}: a statement of the transaction had failed.`, { details: { errorClass: 'serialization' } })
    },
    async rollback() { await session.command('ROLLBACK') },
    ping: () => ping(session),
    destroy: () => { session.destroy() },
    onLost: (callback) => { session.onLost(callback) },
  }
}

/** The shortest round trip that also counts as activity for the server's idle limit. */
export async function ping(session: PhysicalSession): Promise<void> {
  await session.command('SELECT 1')
}
