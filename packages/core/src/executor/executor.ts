import type { SchedError } from '../errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { OpenTransaction } from '../session/transaction-session.ts'
import type { Clock } from '../time/clock.ts'
import type { DatabaseClock } from './database-clock.ts'
import type { Events } from './events.ts'
import type { NodeLife } from './node-lease.ts'
import type { Veto } from './veto.ts'

/** What the parts of a running scheduler share. */
export interface Executor {
  readonly ledger: Ledger
  readonly clock: Clock
  readonly random: () => number
  readonly databaseClock: DatabaseClock
  readonly events: Events
  readonly leaseMs: number
  readonly heartbeatMs: number
  /** How long a handler may go on after its signal aborted, before its row ends without it. */
  readonly abortGraceMs: number
  /** The node's current life: read anew for every attempt. */
  readonly life: NodeLife
  readonly veto: Veto | undefined
  /** Owners of attempts in flight, running or stuck: from before their start is sent until their gate is free. */
  readonly owners: Map<string, { readonly gated: boolean }>
  /** The running attempts by execution: the way to abort one. */
  readonly running: Map<string, (reason: SchedError) => void>
  /** Aborts when the drain's deadline has passed: handlers are to stop. */
  readonly interrupt: AbortSignal
  /** Longest `ctx.transaction` in ms, where an open transaction stops every other writer. */
  readonly transactionBudgetMs: number | undefined
  openTransaction(): Promise<OpenTransaction>
}
