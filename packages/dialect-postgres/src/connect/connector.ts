import type { PgClient } from './pg-client.ts'
import type { PhysicalSession } from '../session/physical-session.ts'

/** Where physical sessions come from. */
export interface Connector<TClient extends PgClient = PgClient> {
  /** How many sessions it can give at the same time; undefined: as many as the server allows. */
  readonly limit: number | undefined
  connect(signal: AbortSignal): Promise<PhysicalSession<TClient>>
  /** Destroys the sessions that are still open and gives no more. Idempotent. */
  close(): void
}
