import { SchedError } from '../errors.ts'
import type { LockName } from '../spi/lock-name.ts'
import type { LockHolding } from '../spi/lock-source.ts'
import type { Stopwatch } from '../time/stopwatch.ts'

export type HoldingState = 'held' | 'releasing' | 'released' | 'lost'

/** What the database granted. */
export interface Grant {
  readonly name: LockName
  readonly owner: string
  readonly fencingToken: number | undefined
  readonly sessionId: string | number | undefined
  /** Started when the granting request was sent. */
  readonly sent: Stopwatch
}

/** How a holding reaches the session it lives on. */
export interface HoldingKeeper {
  /** How long after `sent` a holding is still good: the lease less the safety margin. */
  readonly goodForMs: number
  /** Where one proof of the session proves all its locks: its age counts instead of the holding's own. */
  sharedProof(): Stopwatch | undefined
  /** Why the last renewal failed, if it did. */
  lastFailure(): Error | undefined
  release(holding: Holding): Promise<'released' | 'lost'>
  refresh(): Promise<void>
  /** Called once, when the holding has ended. */
  ended(holding: Holding, how: 'released' | 'lost' | 'overdue'): void
}

/**
 * One held lock. It is good until `goodForMs` after the last successful request was *sent*, and that is judged at every look:
 * a holder that was frozen learns it before its next step (P5). In doubt it is lost.
 */
export class Holding implements LockHolding {
  readonly name: LockName
  readonly owner: string
  readonly fencingToken: number | undefined
  /** The server session it was granted on, where sessions have ids. */
  readonly sessionId: string | number | undefined
  readonly #keeper: HoldingKeeper
  readonly #callbacks = new Set<(reason: SchedError) => void>()
  readonly #endCallbacks = new Set<() => void>()
  #sent: Stopwatch
  #state: HoldingState = 'held'
  #lost: SchedError | undefined
  #release: Promise<'released' | 'lost'> | undefined

  constructor(grant: Grant, keeper: HoldingKeeper) {
    this.name = grant.name
    this.owner = grant.owner
    this.fencingToken = grant.fencingToken
    this.sessionId = grant.sessionId
    this.#sent = grant.sent
    this.#keeper = keeper
  }

  get state(): HoldingState { return this.#state }

  /** Milliseconds until it is over by our own clock; 0 or less when it is. */
  leftMs(): number { return this.#keeper.goodForMs - (this.#keeper.sharedProof() ?? this.#sent).elapsedMs() }

  /** Why it is lost, judged now; undefined while it is good, and after a release that succeeded. */
  judge(): SchedError | undefined {
    if ((this.#state === 'held' || this.#state === 'releasing') && this.leftMs() <= 0) {
      const error = new SchedError('SCHED_LOCK_LOST', `the lock ${JSON.stringify(this.name.name)} was not renewed within ${Math.round(this.#keeper.goodForMs)} ms of its last proof.`, {
        remedy: 'The process was frozen, its event loop was blocked, or the database did not answer: stop the guarded work.',
        details: { name: this.name.name, owner: this.owner }, cause: this.#keeper.lastFailure(),
      })
      this.#end('overdue', error)
    }
    return this.#lost
  }

  /** Calls back once with the reason; at once when it is lost already. The callback must not throw. */
  onLost(callback: (reason: SchedError) => void): void {
    if (this.#lost === undefined) this.#callbacks.add(callback)
    else callback(this.#lost)
  }

  /** Calls back once, when it has been released or lost; at once when it has. The callback must not throw. */
  onEnd(callback: () => void): void {
    if (this.#state === 'released' || this.#state === 'lost') callback()
    else this.#endCallbacks.add(callback)
  }

  /** Gives it back. Never throws; the same answer however often it is called. `lost`: the holder was, or may have been, unguarded. */
  release(): Promise<'released' | 'lost'> {
    return this.#release ??= this.#keeper.release(this)
  }

  /**
   * Proves it now, beside the heartbeat.
   * @throws SchedError SCHED_LOCK_LOST, or why the database could not be asked (the lease lives on until its time is over)
   */
  async refresh(): Promise<void> {
    const before = this.judge() ?? this.#releasedError()
    if (before !== undefined) throw before
    await this.#keeper.refresh()
    const after = this.judge()
    if (after !== undefined) throw after
  }

  /** A request sent at `sent` proved it good. An answer that is processed after the old deadline is a loss all the same. */
  renew(sent: Stopwatch): void {
    if (this.judge() !== undefined) return
    if (sent.elapsedMs() < this.#sent.elapsedMs()) this.#sent = sent
  }

  /** From here on the heartbeat leaves it alone. */
  markReleasing(): void { if (this.#state === 'held') this.#state = 'releasing' }

  markReleased(): void {
    if (this.#state === 'lost' || this.#state === 'released') return
    this.#state = 'released'
    this.#callbacks.clear()
    this.#tellEnd('released')
  }

  lose(reason: SchedError): void { this.#end('lost', reason) }

  #end(how: 'lost' | 'overdue', reason: SchedError): void {
    if (this.#state === 'lost' || this.#state === 'released') return
    this.#state = 'lost'
    this.#lost = reason
    const callbacks = [...this.#callbacks]
    this.#callbacks.clear()
    // The holder first: what the session does about it may take longer.
    for (const callback of callbacks) callback(reason)
    this.#tellEnd(how)
  }

  #tellEnd(how: 'released' | 'lost' | 'overdue'): void {
    const callbacks = [...this.#endCallbacks]
    this.#endCallbacks.clear()
    for (const callback of callbacks) callback()
    this.#keeper.ended(this, how)
  }

  #releasedError(): SchedError | undefined {
    if (this.#state === 'held') return undefined
    return new SchedError('SCHED_LOCK_LOST', `the lock ${JSON.stringify(this.name.name)} has been released by its holder.`, { details: { name: this.name.name, owner: this.owner } })
  }
}
