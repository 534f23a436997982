import { SchedError } from '../errors.ts'

/** What a dialect has open, so that its `close` leaves no session of ours on the server. */
export class OpenSessions {
  readonly #product: string
  readonly #open = new Set<{ destroy(): void }>()
  #closed = false

  /** @param product as people call it, for the error of a closed dialect */
  constructor(product: string) { this.#product = product }

  add(session: { destroy(): void }): void { this.#open.add(session) }

  delete(session: { destroy(): void }): void { this.#open.delete(session) }

  /** @throws SchedError SCHED_STOPPED */
  refuseWhenClosed(): void {
    if (this.#closed) throw new SchedError('SCHED_STOPPED', `this ${this.#product} dialect was closed.`)
  }

  close(): void {
    this.#closed = true
    for (const session of [...this.#open]) session.destroy()
  }
}
