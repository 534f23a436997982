import type { LockHolder } from '../spi/lock-source.ts'

/** A held veto lock. */
export interface VetoHold {
  /** Why it is lost, judged now. */
  judge(): Error | undefined
  /** Calls back once with the reason. */
  onLost(listener: (reason: Error) => void): void
  /** Never throws. */
  release(): Promise<void>
}

/**
 * The lock named after the task, beside the ledger: it can delay or skip a start and abort a run; it never justifies a start, a
 * takeover or a write.
 */
export interface Veto {
  /** `refused`: an outsider or a zombie has it. @throws SchedError when the database could not be asked */
  take(task: string): Promise<VetoHold | 'refused'>
  holder(task: string): Promise<LockHolder | null>
}
