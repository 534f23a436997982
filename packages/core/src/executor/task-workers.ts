import { isSchedError } from '../errors.ts'
import type { ArmedTask } from './armed-task.ts'
import type { Executor } from './executor.ts'
import type { Workers } from './workers.ts'

/** Gives the worker back; idempotent. */
export type Free = () => void

/** The local workers as tasks get them, until claims stop. */
export class TaskWorkers {
  readonly #executor: Executor
  readonly #workers: Workers
  readonly #stop: AbortSignal
  /** When the first of the claims that wait for a worker was due, by task. */
  readonly #claims = new Map<ArmedTask, number>()

  constructor(executor: Executor, workers: Workers, stop: AbortSignal) {
    this.#executor = executor
    this.#workers = workers
    this.#stop = stop
  }

  /** Undefined when claims have stopped, or when this node is full and stands aside. */
  async acquire(task: ArmedTask, fireTime: number): Promise<Free | undefined> {
    try {
      return await this.#workers.acquire(task.definition.priority, this.#stop)
    } catch (error) {
      if (this.#stop.aborted) return undefined
      if (!isSchedError(error, 'SCHED_WORKERS_BUSY')) throw error
      this.#executor.events.emit('slot.left', { task: task.name, fireTime, error })
      return undefined
    }
  }

  /** For a slot of the schedule. */
  async acquireForClaim(task: ArmedTask, fireTime: number): Promise<Free | undefined> {
    if (this.#claims.has(task)) return this.acquire(task, fireTime)
    this.#claims.set(task, fireTime + task.jitterMs)
    try {
      return await this.acquire(task, fireTime)
    } finally {
      this.#claims.delete(task)
    }
  }

  /** For how long the first of the task's claims has waited for a worker since it was due; 0 when none does. */
  waitedMs(task: ArmedTask): number {
    const now = this.#executor.databaseClock.nowMs()
    return now - (this.#claims.get(task) ?? now)
  }

  /** Somebody waits whose turn comes before another run of the task. */
  outranks(task: ArmedTask): boolean { return (this.#workers.nextPriority ?? -Infinity) >= task.definition.priority }

  async run(worker: Promise<Free | undefined>, work: (free: Free) => Promise<void>): Promise<void> {
    const free = await worker
    try {
      if (free !== undefined) await work(free)
    } finally {
      free?.()
    }
  }
}
