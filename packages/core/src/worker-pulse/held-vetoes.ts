import { LockVeto } from '../executor/lock-veto.ts'
import type { VetoHold } from '../executor/veto.ts'
import { SchedError } from '../errors.ts'
import type { Holding } from '../locks/holding.ts'
import type { LockSession } from '../locks/lock-session.ts'
import { lockName } from '../spi/lock-name.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import { LeaseMemory } from './lease-memory.ts'
import type { Notice, TakenVeto } from './protocol.ts'
import { toWire } from './wire-error.ts'

export interface HeldVetoesOptions {
  readonly namespace: string
  readonly clock: Clock
  readonly lockSession: () => Promise<LockSession>
  /** True when the locks are proved by the heartbeat on the same session; else they are renewed by themselves. */
  readonly tied: boolean
  readonly tell: (notice: Notice) => void
}

interface Held { readonly hold: VetoHold; readonly holding: Holding | undefined; readonly session: LockSession; readonly memory: LeaseMemory }

/** The thread's side of the veto locks: what is held for the main thread, each with the memory that it is judged by there. */
export class HeldVetoes {
  readonly #options: HeldVetoesOptions
  readonly #veto: LockVeto
  readonly #held = new Map<number, Held>()
  #session: LockSession | undefined
  #count = 0

  constructor(options: HeldVetoesOptions) {
    this.#options = options
    this.#veto = new LockVeto(options.namespace, async () => this.#session = await options.lockSession())
  }

  async take(task: string): Promise<TakenVeto | 'refused'> {
    const { namespace, clock, tell } = this.#options
    const hold = await this.#veto.take(task)
    if (hold === 'refused') return hold
    const session = this.#session as LockSession
    const { canonical } = lockName(namespace, 'task', task)
    const holding = session.holdings.find(({ name }) => name.canonical === canonical)
    const memory = new LeaseMemory()
    memory.extend(clock, holding?.leftMs() ?? 0)
    const id = this.#count += 1
    this.#held.set(id, { hold, holding, session, memory })
    hold.onLost((reason) => {
      memory.lose(reason)
      tell({ kind: 'veto-lost', hold: id, error: toWire(reason) })
    })
    return { hold: id, memory: memory.buffer }
  }

  /** Never throws. */
  async release(id: number): Promise<void> {
    const held = this.#held.get(id)
    this.#held.delete(id)
    await held?.hold.release()
  }

  holder(task: string): Promise<LockHolder | null> { return this.#veto.holder(task) }

  /** A heartbeat succeeded: the main thread may go on for as long as the locks' own proofs say. */
  async renewed(): Promise<void> {
    const { tied, clock } = this.#options
    // Leases in rows have a timer of their own; what it renewed last may be almost a heartbeat old.
    if (!tied) await Promise.all([...new Set([...this.#held.values()].map(({ session }) => session))].map((session) => session.refresh()))
    for (const { holding, memory } of this.#held.values()) {
      if (holding?.judge() === undefined) memory.extend(clock, holding?.leftMs() ?? 0)
    }
  }

  /** Takes the locks from the main thread, which cannot give them back, so that another instance may have them. */
  async revoke(reason: SchedError): Promise<void> {
    for (const { memory } of this.#held.values()) memory.lose(reason)
    await Promise.all([...this.#held.keys()].map(async (id) => {
      this.#options.tell({ kind: 'veto-lost', hold: id, error: toWire(reason) })
      await this.release(id)
    }))
  }

  /** The thread is ending, and the sessions with it. Writes to shared memory only: nothing else is possible any more. */
  abandon(reason: SchedError): void {
    for (const { memory } of this.#held.values()) memory.lose(reason)
  }
}
