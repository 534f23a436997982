/**
 * How much earlier than the database a holder believes its lease over: max(5 % of the lease, min(1 s, lease / 4)), plus what the
 * servers' clocks may disagree by. The holder counts from when the request was sent, the server from when it ran it, so the local
 * deadline ends strictly first (protocol, I4).
 */
export function safetyMarginMs(leaseMs: number, clockUncertaintyMs: number): number {
  return Math.max(leaseMs * 0.05, Math.min(1000, leaseMs / 4)) + clockUncertaintyMs
}
