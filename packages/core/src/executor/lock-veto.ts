import type { LockSession } from '../locks/lock-session.ts'
import { lockName } from '../spi/lock-name.ts'
import type { LockHolder } from '../spi/lock-source.ts'
import type { Veto, VetoHold } from './veto.ts'

/** The veto on the node's own lock session; `session` opens it again after a loss. */
export class LockVeto implements Veto {
  readonly #namespace: string
  readonly #session: () => Promise<LockSession>

  constructor(namespace: string, session: () => Promise<LockSession>) {
    this.#namespace = namespace
    this.#session = session
  }

  async take(task: string): Promise<VetoHold | 'refused'> {
    const session = await this.#session()
    const outcome = await session.tryLock(lockName(this.#namespace, 'task', task))
    if (outcome.status === 'refused') return 'refused'
    const { holding } = outcome
    return { judge: () => holding.judge(), onLost: (listener) => holding.onLost(listener), release: async () => { await holding.release() } }
  }

  async holder(task: string): Promise<LockHolder | null> {
    return (await this.#session()).inspect(lockName(this.#namespace, 'task', task))
  }
}
