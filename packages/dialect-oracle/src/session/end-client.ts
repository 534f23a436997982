import type { OracleConnection, OracleInternals, OracleStream } from '../connect/oracle-client.ts'

/**
 * Ends a connection without waiting. The driver runs one call at a time, `close` included, and its logoff waits for an answer, which a
 * peer that is frozen or cut off never gives: so the socket itself is closed. An idle server process sees that and ends its session;
 * one in the middle of a call learns of it when it answers, hence the break, which is written before anything else.
 *
 * A pooled connection is cut before it is closed: in thin mode (oracledb 6.10 and 26.0) the driver does not read `drop` and gives what is
 * closed back to the pool, lock and all, unless its socket is gone.
 */
export function endClient(client: OracleConnection, close: () => Promise<void>, how: { readonly busy: boolean; readonly pooled: boolean }): void {
  const stream = streamOf(client)
  // Neither rejection has anything to tell: the socket is closed, and nobody waits for the call any more.
  if (how.busy) (client as OracleInternals).breakExecution?.().catch(() => {})
  if (how.busy || how.pooled) cut(client)
  close().catch(() => {})
  // The goodbye of an idle one has been written by then.
  setImmediate(() => { stream?.destroy?.() })
}

/** True where a connection of a pool can be kept from going back: cut off in thin mode, by `drop` in thick mode. */
export function canBeDropped(client: OracleConnection): boolean {
  const { thin, _impl } = client as OracleInternals
  return thin === false || typeof _impl?.nscon?.forceDisconnect === 'function'
}

function cut(client: OracleConnection): void { (client as OracleInternals)._impl?.nscon?.forceDisconnect?.() }

/** The socket of the thin driver; none in thick mode. Not documented: read in oracledb 26.0.0, lib/thin/sqlnet/{networkSession,ntTcp}.js. */
export function streamOf(client: OracleConnection): OracleStream | undefined {
  return (client as OracleInternals)._impl?.nscon?.ntAdapter?.stream ?? undefined
}
