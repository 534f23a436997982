import type { SqlSession } from '@sched/core/spi'
import type { PhysicalSession } from './physical-session.ts'
import type { IdleLimits } from './session-limits.ts'
import { settingsStatement } from './session-settings.ts'

export interface SqlSessionOptions {
  /** None behind a proxy that shares sessions. */
  readonly id: number | undefined
  readonly around?: IdleLimits['around']
}

/** A physical session as the core sees it: one that only runs statements of ours. */
export function sqlSession<TClient>(session: PhysicalSession, { id, around }: SqlSessionOptions): SqlSession<TClient> {
  const idleLimit = async (seconds: number): Promise<void> => { await session.run(settingsStatement([{ name: 'wait_timeout', value: seconds }])) }
  const end = async (statement: 'COMMIT' | 'ROLLBACK'): Promise<void> => {
    await session.command(statement)
    if (around === undefined) return
    // Sent before whatever comes next, and not waited for: the transaction has ended, which is what the caller asked.
    idleLimit(around.outside).catch((error: unknown) => { session.lose(error as Error) })
  }
  return {
    client: session.client as TClient,
    ...(id === undefined ? {} : { id }),
    run: (statement) => session.run(statement),
    async begin() {
      if (around !== undefined) await idleLimit(around.inside)
      // https://dev.mysql.com/doc/refman/9.7/en/commit.html
      await session.command('START TRANSACTION')
    },
    commit: () => end('COMMIT'),
    rollback: () => end('ROLLBACK'),
    ping: () => ping(session),
    destroy: () => { session.destroy() },
    onLost: (callback) => { session.onLost(callback) },
  }
}

/** The shortest round trip that also counts as activity for the server's idle limit. */
export async function ping(session: PhysicalSession): Promise<void> {
  await session.command('DO 0')
}
