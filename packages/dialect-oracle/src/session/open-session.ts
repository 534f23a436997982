import { orAborted } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { OracleConnection } from '../connect/oracle-client.ts'
import type { PhysicalSession } from './physical-session.ts'
import type { PlSqlBlock } from './plsql.ts'

export interface OpenedSession<TClient extends OracleConnection> {
  readonly session: PhysicalSession<TClient>
  /** `<sid>@<instance>`. */
  readonly id: string
  /** What every statement on a lock checks before it acts. */
  readonly mark: string
}

/** A session with its settings on it. Whatever fails or is aborted on the way leaves no session behind. */
export async function openSession<TClient extends OracleConnection>(
  connector: Connector<TClient>, signal: AbortSignal, setUp: PlSqlBlock, callMs: number | undefined,
): Promise<OpenedSession<TClient>> {
  const session = await connector.connect(signal)
  try {
    if (callMs !== undefined) session.limitCalls(callMs)
    const { session_id: id, session_mark: mark } = await orAborted(signal, session.call(setUp), () => { session.destroy() })
    return { session, id: String(id), mark: String(mark) }
  } catch (error) {
    session.destroy()
    throw error
  }
}
