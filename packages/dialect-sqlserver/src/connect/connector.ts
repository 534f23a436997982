import { SchedError } from '@sched/core/spi'
import type { PhysicalSession } from '../session/physical-session.ts'

/** Where physical sessions come from. */
export interface Connector<TClient = unknown> {
  /** How many sessions it can give at the same time; undefined: as many as the server allows. */
  readonly limit: number | undefined
  /** True when the sessions carry no program name of ours: it is said at login, and a pool has logged in already. */
  readonly unnamed: boolean
  /** `label`: how the session is shown to the operator. */
  connect(signal: AbortSignal, label: string): Promise<PhysicalSession<TClient>>
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
    if (this.#closed) throw new SchedError('SCHED_STOPPED', 'this SQL Server dialect was closed.')
  }

  close(): void {
    this.#closed = true
    for (const session of [...this.#open]) session.destroy()
  }
}
