import { SchedError } from '@sched/core/spi'
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

/** Remembers what is open, so that `close` leaves no session of ours on the server. */
export class OpenSessions {
  readonly #open = new Set<{ destroy(): void }>()
  #closed = false

  add(session: { destroy(): void }): void { this.#open.add(session) }

  delete(session: { destroy(): void }): void { this.#open.delete(session) }

  /** @throws SchedError SCHED_STOPPED */
  refuseWhenClosed(): void {
    if (this.#closed) throw new SchedError('SCHED_STOPPED', 'this Oracle dialect was closed.')
  }

  close(): void {
    this.#closed = true
    for (const session of [...this.#open]) session.destroy()
  }
}

/**
 * `host/service:pooled`, or SERVER=POOLED in a descriptor.
 * https://docs.oracle.com/en/database/oracle/oracle-database/23/netag/configuring-naming-methods.html (Easy Connect, server type)
 */
export function asksForPooledServer(connectString: string | undefined): boolean {
  return connectString !== undefined && /:pooled\b|\(\s*server\s*=\s*pooled\s*\)/i.test(connectString)
}
