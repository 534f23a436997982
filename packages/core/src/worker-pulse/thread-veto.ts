import { SchedError, asError } from '../errors.ts'
import type { Veto, VetoHold } from '../executor/veto.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import { LeaseMemory } from './lease-memory.ts'
import type { TakenVeto } from './protocol.ts'
import type { ThreadLink } from './thread-link.ts'

export interface ThreadVetoOptions {
  readonly clock: Clock
  readonly leaseMs: number
  /** The thread that lives now. @throws SchedError when there is none */
  readonly link: () => ThreadLink
  /** A lock could not be given back: its thread gave no answer. It ends with its session. */
  readonly onError: (error: Error) => void
}

/** The veto on locks that the thread holds. They are judged here, at every look, by the memory that both threads share. */
export class ThreadVeto implements Veto {
  readonly #options: ThreadVetoOptions
  /** By the thread that holds them: numbers mean nothing to the next one. */
  readonly #holds = new Map<ThreadLink, Map<number, ThreadHold>>()

  constructor(options: ThreadVetoOptions) { this.#options = options }

  async take(task: string): Promise<VetoHold | 'refused'> {
    const link = this.#options.link()
    const taken = await link.call('take', { task }, 2 * this.#options.leaseMs, (late) => { if (late !== 'refused') void this.#giveBack(link, late) })
    if (taken === 'refused') return taken
    const hold = new ThreadHold(new LeaseMemory(taken.memory), this.#options.clock, async () => {
      this.#holds.get(link)?.delete(taken.hold)
      await this.#giveBack(link, taken)
    })
    const holds = this.#holds.get(link) ?? new Map<number, ThreadHold>()
    this.#holds.set(link, holds.set(taken.hold, hold))
    if (link.ended !== undefined) this.ended(link, link.ended)
    return hold
  }

  holder(task: string): Promise<LockHolder | null> { return this.#options.link().call('holder', { task }, this.#options.leaseMs) }

  lost(link: ThreadLink, hold: number, reason: Error): void { this.#holds.get(link)?.get(hold)?.lose(reason) }

  /** The thread has ended, and with it the sessions that its locks lived on. */
  ended(link: ThreadLink, reason: Error): void {
    const holds = this.#holds.get(link)
    this.#holds.delete(link)
    for (const hold of holds?.values() ?? []) hold.lose(reason)
  }

  async #giveBack(link: ThreadLink, { hold }: TakenVeto): Promise<void> {
    // A thread that has ended holds nothing any more.
    if (link.ended !== undefined) return
    try {
      await link.call('release', { hold }, this.#options.leaseMs)
    } catch (thrown) {
      if (link.ended === undefined) this.#options.onError(asError(thrown))
    }
  }
}

class ThreadHold implements VetoHold {
  readonly #memory: LeaseMemory
  readonly #clock: Clock
  readonly #giveBack: () => Promise<void>
  readonly #listeners = new Set<(reason: Error) => void>()
  #lost: Error | undefined
  #released: Promise<void> | undefined

  constructor(memory: LeaseMemory, clock: Clock, giveBack: () => Promise<void>) {
    this.#memory = memory
    this.#clock = clock
    this.#giveBack = giveBack
  }

  judge(): Error | undefined {
    if (this.#lost === undefined && this.#released === undefined) {
      const { lost } = this.#memory
      if (lost !== undefined) this.lose(lost)
      else if (this.#memory.leftMs(this.#clock) <= 0) this.lose(new SchedError('SCHED_LOCK_LOST', 'the lock of the task was not renewed in time.'))
    }
    return this.#lost
  }

  onLost(listener: (reason: Error) => void): void {
    if (this.#lost === undefined) this.#listeners.add(listener)
    else listener(this.#lost)
  }

  lose(reason: Error): void {
    if (this.#lost !== undefined || this.#released !== undefined) return
    this.#lost = reason
    for (const listener of [...this.#listeners]) listener(reason)
    this.#listeners.clear()
  }

  release(): Promise<void> {
    return this.#released ??= this.#giveBack()
  }
}
