import type { SchedError } from '../errors.ts'
import { NodeLife } from '../executor/node-lease.ts'
import type { Clock } from '../time/clock.ts'
import type { LeaseMemory } from './lease-memory.ts'

/** A node's life that another thread renews: judged at every look by the memory that both share, without a message. */
export class SharedLife extends NodeLife {
  readonly #memory: LeaseMemory

  constructor(clock: Clock, memory: LeaseMemory, nodeId: string, goodForMs: number) {
    super(clock, { elapsedMs: () => goodForMs - memory.leftMs(clock) }, goodForMs, nodeId)
    this.#memory = memory
  }

  override judge(): SchedError | undefined {
    const { lost } = this.#memory
    if (lost !== undefined) this.lose(lost)
    return super.judge()
  }

  /** Tells the other thread in the same moment. */
  override lose(reason: SchedError): void {
    this.#memory.lose(reason)
    super.lose(reason)
  }
}
