import type { LockHolder } from '../../spi/lock-source.ts'

interface Held { readonly sessionId: number; readonly owner: string; readonly ownerLabel: string; readonly sinceAt: number }

/** Locks that live as long as the server session that took them. */
export class SessionLocks {
  readonly #held = new Map<string, Held>()

  /** False when another session, or another owner on this one, has it. */
  take(canonical: string, wanted: Held): boolean {
    const held = this.#held.get(canonical)
    if (held === undefined) this.#held.set(canonical, wanted)
    return held === undefined || (held.sessionId === wanted.sessionId && held.owner === wanted.owner)
  }

  /** False when this session does not hold it for this owner. */
  give(canonical: string, sessionId: number, owner: string): boolean {
    return this.heldBy(canonical, sessionId, owner) === 'mine' && this.#held.delete(canonical)
  }

  heldBy(canonical: string, sessionId: number, owner: string): 'mine' | 'other' | 'free' {
    const held = this.#held.get(canonical)
    if (held === undefined) return 'free'
    return held.sessionId === sessionId && held.owner === owner ? 'mine' : 'other'
  }

  holder(canonical: string): LockHolder | null {
    const held = this.#held.get(canonical)
    return held === undefined ? null : { owner: held.owner, ownerLabel: held.ownerLabel, sessionId: held.sessionId, sinceAt: held.sinceAt }
  }

  /** A session has ended, and with it what it held. */
  endOf(sessionId: number): void {
    for (const [canonical, held] of this.#held) if (held.sessionId === sessionId) this.#held.delete(canonical)
  }

  countOf(sessionIds: ReadonlySet<number>): number {
    return [...this.#held.values()].filter(({ sessionId }) => sessionIds.has(sessionId)).length
  }
}
