import type { PhysicalSession } from '../session/physical-session.ts'
import type { OracleConnection } from './oracle-client.ts'

/** Where physical sessions come from. */
export interface Connector<TClient extends OracleConnection = OracleConnection> {
  /** How many sessions it can give at the same time; undefined: as many as the server allows. */
  readonly limit: number | undefined
  /** True when the connect string asks for a pooled server (DRCP, PRCP): another process may be given our session after us. */
  readonly pooledServer: boolean
  connect(signal: AbortSignal): Promise<PhysicalSession<TClient>>
  /** Destroys the sessions that are still open and gives no more. Idempotent. */
  close(): void
}


/**
 * `host/service:pooled`, or SERVER=POOLED in a descriptor.
 * https://docs.oracle.com/en/database/oracle/oracle-database/23/netag/configuring-naming-methods.html (Easy Connect, server type)
 */
export function asksForPooledServer(connectString: string | undefined): boolean {
  return connectString !== undefined && /:pooled\b|\(\s*server\s*=\s*pooled\s*\)/i.test(connectString)
}
