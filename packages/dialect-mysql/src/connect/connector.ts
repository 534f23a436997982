import { SchedError } from '@sched/core/spi'
import type { PhysicalSession } from '../session/physical-session.ts'

/** Where physical sessions come from. */
export interface Connector {
  /** How many sessions it can give at the same time; undefined: as many as the server allows. */
  readonly limit: number | undefined
  connect(signal: AbortSignal): Promise<PhysicalSession>
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
    if (this.#closed) throw new SchedError('SCHED_STOPPED', 'this MySQL dialect was closed.')
  }

  close(): void {
    this.#closed = true
    for (const session of [...this.#open]) session.destroy()
  }
}
