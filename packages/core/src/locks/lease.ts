import type { Holding } from './holding.ts'
import { createLeaseSignal } from './lease-signal.ts'
import type { Lease } from './locks.ts'

/** A lease for the user, and the way to end it from our side. */
export interface OwnedLease {
  readonly lease: Lease
  readonly holding: Holding
  /** Aborts the signal with `reason` and gives the lock back. */
  end(reason: Error): Promise<void>
}

export function createLease(holding: Holding): OwnedLease {
  const { signal, abort } = createLeaseSignal(() => holding.judge())
  holding.onLost(abort)
  const release = async (): Promise<{ status: 'released' | 'lost' }> => ({ status: await holding.release() })
  const lease: Lease = {
    name: holding.name.name,
    owner: holding.owner,
    fencingToken: holding.fencingToken,
    sessionId: holding.sessionId,
    signal,
    refresh: () => holding.refresh(),
    release,
    [Symbol.asyncDispose]: async () => { await release() },
  }
  return { lease, holding, end: async (reason) => { abort(reason); await holding.release() } }
}
