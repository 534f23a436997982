import { deleteEnded } from '../ledger/retention.ts'
import type { Stopwatch } from '../time/stopwatch.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import type { Executor } from './executor.ts'
import { maxClaimAgeMs } from './missed-scan.ts'
import type { TaskDefinition } from './task-definition.ts'

const hourMs = 3_600_000

/** Once an hour on each node, off the beat. Several nodes at it delete what the others have not. */
export class Retention {
  readonly #executor: Executor
  readonly #definitions: readonly TaskDefinition[]
  readonly #retentionMs: number
  #since: Stopwatch | undefined

  constructor(executor: Executor, definitions: readonly TaskDefinition[], retentionMs: number) {
    this.#executor = executor
    this.#definitions = definitions
    this.#retentionMs = retentionMs
  }

  get due(): boolean {
    return this.#retentionMs !== Infinity && (this.#since === undefined || this.#since.elapsedMs() > hourMs)
  }

  async run(stopped: () => boolean): Promise<void> {
    const { ledger, leaseMs, clock } = this.#executor
    this.#since = startStopwatch(clock)
    for (const task of this.#definitions) {
      // A slot that may still be claimed must find its row.
      const keepMs = Math.max(this.#retentionMs, maxClaimAgeMs(task, leaseMs) + hourMs)
      while (!stopped() && await deleteEnded(ledger, task.name, keepMs) > 0);
    }
  }
}
