import { orAborted, SchedError } from '@sched/core/spi'
import type { Connector } from '../connect/connector.ts'
import type { PhysicalSession } from './physical-session.ts'
import { settingsBatch } from './session-settings.ts'

export interface OpenedSession<TClient> { readonly session: PhysicalSession<TClient>; readonly id: number }

/** A session with its settings on it, and its id (@@SPID). Whatever fails or is aborted on the way leaves no session behind. */
export async function openSession<TClient>(
  connector: Connector<TClient>, { signal, label }: { readonly signal: AbortSignal; readonly label: string }, settings: readonly string[],
): Promise<OpenedSession<TClient>> {
  const session = await connector.connect(signal, label)
  try {
    const batch = settingsBatch(settings, connector.unnamed ? label : undefined)
    const { rows: [row] } = await orAborted(signal, session.batch(batch, 0), () => { session.destroy() })
    if (row?.['open_transactions'] !== 0) {
      throw new SchedError('SCHED_SESSION_LOST', 'the pool lent a connection that was in the middle of a transaction; it was closed.', {
        details: { errorClass: 'connection-lost' }, remedy: 'Commit or roll back every mssql.Transaction.',
      })
    }
    return { session, id: row['session_id'] as number }
  } catch (error) {
    session.destroy()
    throw error
  }
}
