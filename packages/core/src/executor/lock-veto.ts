import type { LockSession } from '../locks/lock-session.ts'
import { lockName } from '../spi/lock-name.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import { sleep } from '../time/wait.ts'
import type { Veto, VetoHold } from './veto.ts'

// The gate is free a moment before the lock: finish comes first, then release. A refusal counts only when it lasts.
const tries = 4
const pauseMs = 25

/** The veto on the node's own lock session; `session` opens it again after a loss. */
export class LockVeto implements Veto {
  readonly #namespace: string
  readonly #clock: Clock
  readonly #session: () => Promise<LockSession>

  constructor(namespace: string, clock: Clock, session: () => Promise<LockSession>) {
    this.#namespace = namespace
    this.#clock = clock
    this.#session = session
  }

  async take(task: string): Promise<VetoHold | 'refused'> {
    for (let left = tries; ; left -= 1) {
      const session = await this.#session()
      const outcome = await session.tryLock(lockName(this.#namespace, 'task', task))
      if (outcome.status === 'acquired') {
        const { holding } = outcome
        return { judge: () => holding.judge(), onLost: (listener) => holding.onLost(listener), release: async () => { await holding.release() } }
      }
      if (left === 1) return 'refused'
      await sleep(this.#clock, pauseMs)
    }
  }

  async holder(task: string): Promise<LockHolder | null> {
    return (await this.#session()).inspect(lockName(this.#namespace, 'task', task))
  }
}
