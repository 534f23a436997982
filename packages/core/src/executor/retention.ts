import { deleteEnded, tasksWithEnded } from '../ledger/retention.ts'
import { endRetired, retiredSpecs } from '../ledger/retire.ts'
import type { Stopwatch } from '../time/stopwatch.ts'
import { startStopwatch } from '../time/stopwatch.ts'
import type { Executor } from './executor.ts'
import { maxClaimAgeMs } from './missed-scan.ts'
import type { TaskDefinition } from './task-definition.ts'
import { readSpec } from './task-spec.ts'

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

  get due(): boolean { return this.#since === undefined || this.#since.elapsedMs() > hourMs }

  async run(stopped: () => boolean): Promise<void> {
    const { ledger, leaseMs, clock } = this.#executor
    this.#since = startStopwatch(clock)
    // An attempt that ran when its task was retired may have ended as a retry.
    await endRetired(ledger)
    if (this.#retentionMs === Infinity) return
    const keepMs = new Map(this.#definitions.map((task) => [task.name, this.#keepMs(maxClaimAgeMs(task, leaseMs))]))
    for (const [taskName, spec] of await retiredSpecs(ledger)) keepMs.set(taskName, this.#keepMs(longestClaimAgeMs(spec, leaseMs)))
    if (keepMs.size === 0) return
    for (const taskName of await tasksWithEnded(ledger, leastOf(keepMs.values()))) {
      const taskKeepMs = keepMs.get(taskName)
      while (taskKeepMs !== undefined && !stopped() && await deleteEnded(ledger, taskName, taskKeepMs) > 0);
    }
  }

  /** A slot that may still be claimed must find its row. */
  #keepMs(claimAgeMs: number): number { return Math.max(this.#retentionMs, claimAgeMs + hourMs) }
}

function leastOf(values: Iterable<number>): number { return [...values].reduce((least, value) => Math.min(least, value), Infinity) }

/** Whatever its misfire policy: the task may come back. */
function longestClaimAgeMs(spec: string, leaseMs: number): number {
  const { runAll, catchUpWindowMs, jitterMs } = readSpec(spec)
  const { maxAgeMs = 0 } = (runAll ?? {}) as { maxAgeMs?: number }
  return Math.max(24 * hourMs, 2 * leaseMs, maxAgeMs, catchUpWindowMs ?? 0) + jitterMs
}
