import type { LockSession } from '../locks/lock-session.ts'
import { lockName } from '../spi/lock-name.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Clock } from '../time/clock.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import { sleep } from '../time/wait.ts'
import type { Veto, VetoHold } from './veto.ts'

export interface LockVetoOptions {
  readonly namespace: string
  readonly clock: Clock
  /** The longest that a member of the cluster may take to release after its finish. */
  readonly patienceMs: number
  /** The node's own lock session, opened again after a loss. */
  readonly session: () => Promise<LockSession>
}

const pauseMs = 25
const outsiderTries = 4

/**
 * The veto on the node's own lock session. The gate is free a moment before the lock: finish comes first, then release. So a refusal
 * counts only when it lasts, and one by a member of the same cluster is waited for longer than one by an outsider.
 */
export class LockVeto implements Veto {
  readonly #options: LockVetoOptions

  constructor(options: LockVetoOptions) { this.#options = options }

  async take(task: string): Promise<VetoHold | 'refused'> {
    const { namespace, clock, patienceMs, session } = this.#options
    const watch = startStopwatch(clock)
    for (let tries = 1; ; tries += 1) {
      const outcome = await (await session()).tryLock(lockName(namespace, 'task', task))
      if (outcome.status === 'acquired') {
        const { holding } = outcome
        return { judge: () => holding.judge(), onLost: (listener) => holding.onLost(listener), release: async () => { await holding.release() } }
      }
      if (watch.elapsedMs() > patienceMs || (tries >= outsiderTries && outcome.by === 'database' && !this.#isMember(await this.holder(task)))) return 'refused'
      await sleep(clock, pauseMs)
    }
  }

  async holder(task: string): Promise<LockHolder | null> {
    return (await this.#options.session()).inspect(lockName(this.#options.namespace, 'task', task))
  }

  /** Sessions of the cluster carry its label; nobody holds it any more when there is no holder. */
  #isMember(holder: LockHolder | null): boolean {
    return holder === null || holder.ownerLabel?.startsWith(`sched:${this.#options.namespace}:`) === true
  }
}
