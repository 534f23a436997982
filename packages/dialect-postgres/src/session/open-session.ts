import { orAborted, type Statement } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { PgClient } from '../connect/pg-client.ts'
import type { PhysicalSession } from './physical-session.ts'

/** A session with its settings on it, and its server-side id. Whatever fails or is aborted on the way leaves no session behind. */
export async function openSession<TClient extends PgClient>(
  connector: Connector<TClient>, signal: AbortSignal, setUp: Statement,
): Promise<{ readonly session: PhysicalSession<TClient>; readonly id: number }> {
  const session = await connector.connect(signal)
  try {
    const { rows: [row] } = await orAborted(signal, session.run(setUp))
    return { session, id: row?.['session_id'] as number }
  } catch (error) {
    session.destroy()
    throw error
  }
}
