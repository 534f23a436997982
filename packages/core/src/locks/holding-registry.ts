import { SchedError } from '../errors.ts'
import type { LockSource } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import { abortError } from '../time/wait.ts'

/** The right of one flow of this process to ask the database for a name. */
export interface Reservation {
  readonly canonical: string
  /** Keeps the name taken until `work` has settled, whenever `free` is called: somebody is still clearing it up. */
  holdFor(work: Promise<unknown>): void
  /** Gives the name to the next flow that waits for it. Idempotent. */
  free(): void
}

interface Turn { readonly take: (reservation: Reservation) => void }

/**
 * The names in use through one lock source: held, being asked for, or being cleared up. Native locks are re-entrant on their session,
 * so a second request for a name is refused here, before any SQL is sent, the owner's own included.
 */
export class HoldingRegistry {
  readonly #waiting = new Map<string, Turn[]>()

  /** Names in use. */
  get size(): number { return this.#waiting.size }

  has(canonical: string): boolean { return this.#waiting.has(canonical) }

  /**
   * The name, or undefined when this process uses it already.
   * @throws SchedError SCHED_LOCK_LIMIT when `limit` names are in use
   */
  tryReserve(canonical: string, limit: number): Reservation | undefined {
    if (this.#waiting.has(canonical)) return undefined
    if (this.#waiting.size >= limit) {
      throw new SchedError('SCHED_LOCK_LIMIT', `${limit} locks are in use in this process, and that is the limit.`, {
        remedy: 'Release some, or raise maxLocks; a server out of lock memory fails for everybody, so the dialect sets the ceiling.', details: { limit },
      })
    }
    this.#waiting.set(canonical, [])
    return this.#reservation(canonical)
  }

  /**
   * The name as soon as the flows before us are done with it, in order of arrival; undefined after `waitMs`.
   * @throws SchedError SCHED_LOCK_LIMIT, or what the signal aborts with
   */
  async reserve(canonical: string, wait: { clock: Clock; waitMs: number; limit: number; signal?: AbortSignal | undefined }): Promise<Reservation | undefined> {
    const { clock, waitMs, limit, signal } = wait
    if (signal?.aborted === true) throw abortError(signal)
    const turns = this.#waiting.get(canonical)
    if (turns === undefined) return this.tryReserve(canonical, limit)
    if (waitMs <= 0) return undefined
    return new Promise((resolve, reject) => {
      const leave = (): void => { timer.cancel(); signal?.removeEventListener('abort', onAbort) }
      const turn: Turn = { take: (reservation) => { leave(); resolve(reservation) } }
      const giveUp = (): void => { leave(); turns.splice(turns.indexOf(turn), 1) }
      const timer = clock.setTimer(() => { giveUp(); resolve(undefined) }, waitMs)
      const onAbort = (): void => { giveUp(); reject(abortError(signal as AbortSignal)) }
      signal?.addEventListener('abort', onAbort, { once: true })
      turns.push(turn)
    })
  }

  #reservation(canonical: string): Reservation {
    let state: 'taken' | 'freed' | 'gone' = 'taken'
    let clearing = 0
    const leave = (): void => {
      if (state !== 'freed' || clearing > 0) return
      state = 'gone'
      const next = this.#waiting.get(canonical)?.shift()
      if (next === undefined) this.#waiting.delete(canonical)
      else next.take(this.#reservation(canonical))
    }
    return {
      canonical,
      holdFor: (work) => {
        clearing += 1
        const settled = (): void => { clearing -= 1; leave() }
        work.then(settled, settled)
      },
      free: () => { if (state === 'taken') { state = 'freed'; leave() } },
    }
  }
}

const registries = new WeakMap<LockSource, HoldingRegistry>()

/** The registry of a lock source: one, whoever uses the source. */
export function registryOf(source: LockSource): HoldingRegistry {
  let registry = registries.get(source)
  if (registry === undefined) registries.set(source, registry = new HoldingRegistry())
  return registry
}
