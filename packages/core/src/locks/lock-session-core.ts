import { SchedError } from '../errors.ts'
import type { LockStrategy } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import type { Stopwatch } from '../time/stopwatch.ts'
import type { ConnectionSlot } from './connection-slot.ts'
import type { Holding } from './holding.ts'
import type { Fence } from './lock-attempt.ts'
import type { LockEvent } from './lock-events.ts'

/** What claiming and releasing share of a lock session. */
export interface LockSessionCore {
  readonly slot: ConnectionSlot
  readonly strategy: LockStrategy
  /** True when locks end with their session; false for leases in rows, which outlive a connection. */
  readonly tied: boolean
  readonly leaseMs: number
  readonly statementMs: number
  readonly ownerLabel: string
  readonly clock: Clock
  readonly random: () => number
  readonly fence: Fence | undefined
  /** @throws SchedError SCHED_SESSION_LOST when the session takes no new locks */
  refuseUnlessOpen(): void
  renewed(sent: Stopwatch): void
  quarantine(): void
  emit(event: LockEvent): void
  /** Work that goes on behind the caller's back, so that the session waits for it before it ends. */
  behind(work: Promise<void>): Promise<void>
}

/** How a holder is told that its lock is gone. */
export function lockLost(holding: Holding, why: string, cause?: Error): SchedError {
  return new SchedError('SCHED_LOCK_LOST', `the lock ${JSON.stringify(holding.name.name)} is lost: ${why}.`, {
    remedy: 'Stop the guarded work; somebody else may hold the lock.', details: { name: holding.name.name, owner: holding.owner }, cause,
  })
}
