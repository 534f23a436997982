import type { SchedError } from '../errors.ts'
import type { Finding } from '../spi/probe.ts'

/**
 * What happens to locks beside the results of calls.
 *
 * - `lock.warning`: the probe found something safe that a person should know. Once per finding.
 * - `lock.lost`: a lease ended without its holder's doing.
 * - `lock.heartbeat-failed`: a renewal failed; it is tried again until the lease is over.
 * - `lock.release-failed`: a release could not be confirmed; the lock ends with its session or its expiry.
 * - `lock.session-lost`: a lock session ended without our doing, or was destroyed on doubt; `held` leases ended with it.
 */
export type LockEvent =
  | { readonly kind: 'lock.warning'; readonly finding: Finding }
  | { readonly kind: 'lock.lost'; readonly name: string; readonly owner: string; readonly reason: SchedError }
  | { readonly kind: 'lock.heartbeat-failed'; readonly held: number; readonly error: Error }
  | { readonly kind: 'lock.release-failed'; readonly name: string; readonly owner: string; readonly error: Error }
  | { readonly kind: 'lock.session-lost'; readonly sessionId: string | number | undefined; readonly held: number; readonly error: Error }

export type LockEventListener = (event: LockEvent) => void
